"""What one process forgets leaves the memory of the others, also of one that nobody asks anything."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.parts.postgres import server, started
from tests.patience import until

from agent_memory import AgentMemory
from agent_memory.ledger.shelves.following import EVERY_SECONDS

NAME = "Quetzalcoatlus"
OTHER = """
import gc, os, sys, threading
from agent_memory import AgentMemory

store, canary = sys.argv[1], sys.argv[2][::-1]  # nobody here has it from elsewhere

def held():
    # How many texts with it there are, in whatever is reachable.
    known, found, looking = set(), 0, gc.get_objects()
    while looking:
        inside = [part for one in looking for part in (*gc.get_referents(one), *(one if type(one) is dict else ()))]
        found += sum(canary in one.lower() and one is not canary for one in inside if isinstance(one, str))
        looking = [one for one in inside if not (gc.is_tracked(one) or id(one) in known or isinstance(one, str))]
        known |= {id(one) for one in looking}
    return found

memory = AgentMemory("ada", store=store)
print(len(memory.recall("whom did we meet in the reeds?").hits), flush=True)
for line in sys.stdin:
    if line.strip() == "fork":
        if os.fork() == 0:
            os._exit(0 if memory.recall("whom did we meet in the reeds?").hits else 1)
        assert os.wait()[1] == 0
    gc.collect()
    print(held(), sum("erasures" in one.name for one in threading.enumerate()), flush=True)
    if line.strip() == "close":
        memory.close()
"""


class Other:
    """A process that answered a question, and is asked nothing but what is in its memory."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.hits = self._told()[0]

    def holds(self, say: str = "look") -> list[int]:
        """How many texts with the name, and how many threads that look for erasures."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{say}\n")
        self._process.stdin.flush()
        return self._told()

    def _told(self) -> list[int]:
        assert self._process.stdout is not None
        return [int(one) for one in self._process.stdout.readline().split()]


@contextmanager
def other(store: str) -> Iterator[Other]:
    told = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", OTHER, store, NAME.lower()[::-1]], **told) as process:
        try:
            yield Other(process)
        finally:
            process.kill()


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "memory.db") if request.param == "sqlite" else server(18).fresh()


def met(memory: AgentMemory) -> str:
    memory.records.add("The heron stands in the reeds.")
    said = {"name": NAME, "type": "animal"}
    return memory.records.add(f"We met {NAME} in the reeds.", kind="entity", payload=said).id


Forget = Callable[[AgentMemory, str], object]


@pytest.mark.requirement("C13")
@pytest.mark.parametrize(
    "forget",
    [
        pytest.param(lambda memory, id: memory.records.forget([id]), id="a record"),
        pytest.param(lambda memory, id: memory.tenants.erase("default"), id="a tenant"),
    ],
)
def test_a_process_that_is_not_asked(store: str, forget: Forget) -> None:
    with AgentMemory("ada", store=store) as memory:
        gone = met(memory)
        with other(store) as another:
            assert another.hits and another.holds()[0]
            forget(memory, gone)
            until(lambda: another.holds()[0] == 0, "the other process still has it")


def test_a_process_that_forked(store: str) -> None:
    with AgentMemory("ada", store=store) as memory:
        gone = met(memory)
        with other(store) as another:
            assert another.hits and another.holds("fork")[0]
            memory.records.forget([gone])
            until(lambda: another.holds()[0] == 0, "the other process still has it")


def test_a_database_that_was_away() -> None:
    with started(18) as own:
        uri = own.fresh()
        with AgentMemory("ada", store=uri) as memory:
            gone = met(memory)
            with other(uri) as another:
                assert another.hits and another.holds()[0]
                own.stop()
                time.sleep(2 * EVERY_SECONDS)  # long enough for somebody to look, and to find nobody
                own.start()
                memory.records.forget([gone])
                until(lambda: another.holds()[0] == 0, "the other process still has it")


def test_a_thread_as_long_as_there_are_shelves(store: str) -> None:
    with AgentMemory("ada", store=store) as memory:
        met(memory)
        with other(store) as another:
            assert another.holds("close")[1] == 1
            assert another.holds()[1] == 0
    looking = [one for one in threading.enumerate() if "erasures" in one.name]
    assert looking == [], "nobody asked anything here"
