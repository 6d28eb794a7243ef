"""A process may fork whenever it likes: parent and child both go on, and nothing is lost."""

from __future__ import annotations

import subprocess
import sys

FORKED = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada")
memory.records.add("written before the fork")
memory.recall("fork")
child = os.fork()
memory.records.add("written by the " + ("parent" if child else "child"))
found = {hit.text for hit in memory.recall("written", k=10)}
if child:
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    found = {hit.text for hit in memory.recall("written", k=10)}
    assert found == {"written before the fork", "written by the parent", "written by the child"}, found
    assert memory.upkeep.verify().ok
else:
    os._exit(0 if "written by the child" in found else 1)
"""


def run(code: str) -> None:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_fork_is_survived() -> None:
    run(FORKED)


BUSY_FORK = """
import os, signal, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada")
done, errors = threading.Event(), []

def work(name):
    number = 0
    try:
        while not done.is_set():
            memory.records.add(f"thread {name} note {number}")
            memory.recall(f"thread {name}", k=3)
            number += 1
    except BaseException as error:
        errors.append(error)

threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
for thread in threads:
    thread.start()
for number in range(10):
    time.sleep(0.03)
    child = os.fork()
    if not child:
        signal.alarm(120)
        memory.records.add(f"child {number} writes")
        os._exit(0 if f"child {number} writes" in {hit.text for hit in memory.recall("child writes", k=20)} else 1)
    _, status = os.waitpid(child, 0)
    if status:
        errors.append(f"child {number}: {status}")
done.set()
for thread in threads:
    thread.join()
assert errors == [], errors
written = {record.text for record in memory.records.find(limit=10_000)}
assert {f"child {number} writes" for number in range(10)} <= written
assert memory.upkeep.verify().ok
"""


def test_a_fork_while_other_threads_are_at_work() -> None:
    run(BUSY_FORK)


LOCKED_FORK = """
import os, signal, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agent_memory import AgentMemory
from agent_memory.ports.clock import SystemClock

class Slow(SystemClock):
    lock, asked = threading.Lock(), threading.Event()

    def now(self):
        with self.lock:
            self.asked.set()
            time.sleep(0.3)
            return super().now()

memory = AgentMemory(user_id="ada", clock=Slow())
thread = threading.Thread(target=memory.records.add, args=("one note",))
thread.start()
Slow.asked.wait()
child = os.fork()
if not child:
    signal.alarm(120)
    memory.records.add("the note of the child")
    os._exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
thread.join()
assert len(memory.records.find()) == 2
"""


def test_a_fork_waits_for_calls_that_hold_the_locks_of_others() -> None:
    """A library's, an import's or, as here, the user's own: in the child it would be held for ever."""
    run(LOCKED_FORK)


LEFT_BEHIND = """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada")
memory.records.add("written before the fork")
(wait, tell), (waiting, told) = os.pipe(), os.pipe()
child = os.fork()
if not child:
    memory.records.add("the child writes")
    os.write(told, b".")
    os.read(wait, 1)
    memory.records.add("the child writes again, its parent has left")
    os._exit(0)
os.read(waiting, 1)
memory.close()
os.write(tell, b".")
assert os.waitpid(child, 0)[1] == 0
with AgentMemory(user_id="ada") as again:
    texts = {record.text for record in again.records.find()}
    assert len(texts) == 3, texts
    assert again.upkeep.verify().ok
"""


def test_what_a_child_writes_survives_its_parent() -> None:
    """SQLite's log goes with the last process that has the file open: the parent must know of the child."""
    run(LEFT_BEHIND)


RECEIPTS = """
import logging, os, sqlite3, warnings
warnings.simplefilter("ignore", DeprecationWarning)
logging.basicConfig(level="WARNING", filename=os.environ["AGENT_MEMORY_HOME"] + ".log")
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada")
memory.records.add("one note")
memory.recall("note")
child = os.fork()
memory.recall("note")
memory.close()
if not child:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
file = sqlite3.connect(os.environ["AGENT_MEMORY_HOME"] + "/memory.db")
assert file.execute("select count(*) from receipts").fetchone() == (3,)
assert open(os.environ["AGENT_MEMORY_HOME"] + ".log").read() == ""
"""


def test_a_child_writes_its_own_receipts_and_no_others() -> None:
    run(RECEIPTS)


IN_THE_MIDDLE = """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agent_memory import AgentMemory
from agent_memory.models.errors import StoreError
memory = AgentMemory(user_id="ada")
memory.records.add("before")
with memory._client.runtime.store.records._connections.reading():
    child = os.fork()
    if not child:
        try:
            memory.records.find()
        except StoreError as error:
            os._exit(0 if "forked while the store was in use" in str(error) else 1)
        os._exit(2)
assert os.waitpid(child, 0)[1] == 0
assert [record.text for record in memory.records.find()] == ["before"]
"""


def test_a_child_of_a_transaction_is_refused() -> None:
    """It would have a file that SQLite takes for locked; an error is better than a lost write."""
    run(IN_THE_MIDDLE)


POOLED = """
import multiprocessing, os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agent_memory import AgentMemory

def work(number):
    with AgentMemory(user_id="ada") as own:
        own.records.add(f"worker {number}")
        return len(memory.recall("worker", k=50).hits)

memory = AgentMemory(user_id="ada")
memory.recall("anything")
with multiprocessing.get_context("fork").Pool(3) as pool:
    assert all(pool.map(work, range(12)))
assert memory.upkeep.stats()["records"] == 12
"""


def test_a_pool_of_forked_workers() -> None:
    run(POOLED)
