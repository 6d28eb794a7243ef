"""Several processes, one file; processes that die; threads; forks. Nothing acknowledged is lost."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.app import wiring
from agent_memory.models.errors import StoreError
from patience import PATIENCE

WRITER = """
import sys
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada")
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[2])):
    memory.records.add(f"{sys.argv[1]} writes note {number}")
    print(number, flush=True)
"""


def writer(name: str, count: int) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, name, str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stdin
    assert process.stdout.readline() == "ready\n", process.stderr.read() if process.stderr else ""
    return process


def start(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("go\n")
    process.stdin.flush()


def two_writers(count: int) -> None:
    processes = [writer(name, count) for name in ("one", "two")]
    for process in processes:
        start(process)
    for process in processes:
        _, error = process.communicate(timeout=600)
        assert process.returncode == 0, error
    with AgentMemory(user_id="ada") as memory:
        assert memory.upkeep.stats()["kinds"] == {"observation": 2 * count}
        assert memory.upkeep.verify().ok
        assert memory.recall(f"two writes note {count - 1}", k=1)[0].text == f"two writes note {count - 1}"


def kill_in_the_middle(after: int, home: Path) -> None:
    process = writer(f"victim {after}", 10_000)
    start(process)
    assert process.stdout
    acknowledged = [int(process.stdout.readline()) for _ in range(after)]
    os.kill(process.pid, signal.SIGKILL)
    acknowledged += [int(line) for line in process.stdout.read().splitlines()]
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream:
            stream.close()
    with AgentMemory(user_id="ada") as memory:
        proof = memory.upkeep.verify()
        assert proof.ok, proof.problems
        notes = memory.records.find(limit=10_000)
        kept = {record.text for record in notes}
        lost = {f"victim {after} writes note {number}" for number in acknowledged} - kept
        assert lost == set()
        last = f"victim {after} writes note {acknowledged[-1]}"
        assert last in [hit.text for hit in memory.recall(last, k=5)]


def test_two_processes_lose_nothing() -> None:
    two_writers(60)


@pytest.mark.soak
def test_two_processes_times_five_hundred() -> None:
    two_writers(500)


@pytest.mark.parametrize("after", [1, 17, 40])
def test_killed_anywhere_what_was_acknowledged_is_there(after: int, home: Path) -> None:
    kill_in_the_middle(after, home)


@pytest.mark.soak
def test_killed_twenty_times(home: Path) -> None:
    for round in range(20):
        kill_in_the_middle(5 + round * 7, home)


THREADS = """
import sys, threading
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada")
lock = threading.Lock()

def work(name):
    for number in range(10_000):
        text = f"thread {name} writes note {number}"
        memory.records.add(text)
        with lock:
            print(text, flush=True)

for name in range(8):
    threading.Thread(target=work, args=(name,)).start()
"""


@pytest.mark.parametrize("after", [3, 50])
def test_threads_that_write_together_are_killed_and_what_was_acknowledged_is_there(after: int, home: Path) -> None:
    """And nothing is there that nobody asked for: at most one note of each thread was still to be acknowledged."""
    process = subprocess.Popen([sys.executable, "-c", THREADS], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    told = {process.stdout.readline().strip() for _ in range(after)}
    os.kill(process.pid, signal.SIGKILL)
    told |= {line.strip() for line in process.stdout if line.endswith("\n")}
    process.wait()
    process.stdout.close()
    with AgentMemory(user_id="ada") as memory:
        proof = memory.upkeep.verify()
        assert proof.ok, proof.problems
        notes = [record.text for record in memory.records.find(limit=10_000)]
        assert len(notes) == len(set(notes)) and told <= set(notes)
        assert len(set(notes) - told) <= 8


def test_an_interrupt_ends_one_of_many_writers_and_the_others_go_on(home: Path) -> None:
    """Ctrl-C comes to the main thread, wherever it is: waiting, writing, or done."""
    script = """
import os, signal, sys, threading
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada")
written, turns = [], 15

def work(name):
    for number in range(turns):
        memory.records.add(f"thread {name} note {number}")
        written.append(name)

threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
for thread in threads:
    thread.start()
stopped = tried = 0
while any(thread.is_alive() for thread in threads):
    timer = threading.Timer(0.003 * (tried % 7), os.kill, (os.getpid(), signal.SIGINT))
    try:
        timer.start()
        while True:
            memory.records.add(f"main note {tried}")
            tried += 1
    except KeyboardInterrupt:
        stopped += 1
    tried += 1
for thread in threads:
    thread.join()
found = [record.text for record in memory.records.find(limit=10_000)]
assert len(written) == 4 * turns, "an innocent one was ended"
assert len(found) == len(set(found)) and len([one for one in found if one.startswith("thread")]) == 4 * turns, found
assert memory.upkeep.verify().ok
print(stopped)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=5 * PATIENCE)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0


def test_threads_share_one_memory(memory: AgentMemory) -> None:
    errors: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for number in range(25):
                memory.records.add(f"thread {name} note {number}")
                memory.recall(f"note {number}", k=3)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(str(name),)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert memory.upkeep.stats()["records"] == 100
    assert memory.upkeep.verify().ok


@pytest.mark.parametrize("counter", ["entity", "strategy"])
def test_updates_from_many_threads_are_all_counted(memory: AgentMemory, counter: str) -> None:
    """Read, merge, write again when somebody was faster: no update overwrites another."""
    from agent_memory.models import Entity

    def work(number: int) -> None:
        if counter == "entity":
            memory.upsert_entity(Entity(name="cluster", type="System", aliases=[f"alias {number}"]))
        else:
            memory.procedural.learn_strategy("look at the logs", "any incident", ["kubectl"])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if counter == "entity":
        (record,) = memory.records.find("entity")
        assert sorted(record.payload["aliases"]) == [f"alias {number}" for number in range(6)]
    else:
        assert memory.what_worked_for("an incident")[0].success_count == 6


def test_closing_from_many_threads_closes_once() -> None:
    """Other clients of the same store go on."""
    with AgentMemory(user_id="bob") as other:
        for _ in range(10):
            memory = AgentMemory(user_id="ada", conversation_id="c1")
            ready = threading.Barrier(4)

            def close(client: AgentMemory = memory, ready: threading.Barrier = ready) -> None:
                ready.wait()
                client.close()

            threads = [threading.Thread(target=close) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert other._client.runtime.clients == 1
        other.records.add("still here")
        runtime = other._client.runtime
    assert runtime not in wiring._open


def test_a_client_that_cannot_clear_its_desk_still_lets_go(home: Path) -> None:
    memory = AgentMemory(user_id="ada")
    runtime = memory._client.runtime
    with sqlite3.connect(home / "memory.db") as other:
        other.execute("drop table lists")
    other.close()
    with pytest.raises(StoreError):
        memory.close()
    assert runtime not in wiring._open
    memory.close()


def test_a_reader_waits_for_nobody(memory: AgentMemory) -> None:
    """A write transaction of another connection is open; reads answer from their snapshot meanwhile."""
    memory.records.add("before")
    with memory._client.runtime.store.records._connections.writing():  # type: ignore[attr-defined]
        assert [hit.text for hit in memory.recall("before")] == ["before"]
