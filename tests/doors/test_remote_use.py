"""The client at a server from threads, forks, coroutines, the guide and the command line."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from ports import free_port

from agent_memory import AgentMemory, AsyncAgentMemory
from agent_memory.app.namespaces import Upkeep
from agent_memory.app.operations import TABLE, Permission, operation
from agent_memory.models.errors import (
    NotFound,
)
from patience import FOREVER, PATIENCE, until_then

Serving = Callable[..., AbstractContextManager[str]]
Pair = tuple[AgentMemory, AgentMemory]


def test_threads_share_a_client(pair: Pair) -> None:
    here, there = pair

    def add(name: int) -> None:
        for number in range(10):
            there.records.add(f"{name} {number}")

    threads = [threading.Thread(target=add, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(here.records.find(limit=100)) == 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_is_safe(serving: Serving) -> None:
    code = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agent_memory import AgentMemory
memory = AgentMemory("ada", store=sys.argv[1])
memory.records.add("parent")
child = os.fork()
if not child:
    for number in range(20):
        memory.records.add(f"child {number}")
    memory.close()
    os._exit(0)
for number in range(20):
    memory.records.add(f"parent {number}")
assert os.waitpid(child, 0)[1] == 0
assert len(memory.records.find(limit=100)) == 41
"""
    with serving() as url:
        ran = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_does_not_wait_for_a_server() -> None:
    code = """
import os, socket, sys, threading, time, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agent_memory import AgentMemory
from agent_memory.app import wiring
wiring.CALL_SECONDS = wiring.FORK_SECONDS = float(sys.argv[1])
listening = socket.create_server(("127.0.0.1", 0))
memory = AgentMemory("ada", store=f"http://127.0.0.1:{listening.getsockname()[1]}")
threading.Thread(target=lambda: memory.records.find(), daemon=True).start()
asked = listening.accept()[0]
asked.recv(65536)
time.sleep(0.2)
if not os.fork():
    os._exit(0)
os._exit(0)
"""
    ran = subprocess.run([sys.executable, "-c", code, str(FOREVER)], capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr


def test_without_httpx_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["httpx"] = None
from agent_memory import AgentMemory
AgentMemory("ada", store="memory://").close()
AgentMemory("ada", store="http://127.0.0.1:1")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert "PartMissing" in ran.stderr and "agent-memory[client]" in ran.stderr


def test_the_async_client_does_the_same(serving: Serving) -> None:
    async def story(url: str) -> None:
        async with AsyncAgentMemory("ada", "c1", store=url) as memory:
            await asyncio.gather(*(memory.records.add(f"note {number}") for number in range(12)))
            assert len(await memory.records.find()) == 12
            with pytest.raises(NotFound):
                await memory.records.get("nobody")

    with serving() as url:
        asyncio.run(story(url))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, list[str]]]:
    """Operations that wait for an event, one reads and one writes; and which of them began."""
    go, began = threading.Event(), list[str]()

    def look(self: Upkeep) -> int:
        """Wait, and read."""
        began.append("look")
        go.wait(FOREVER)
        return 1

    def note(self: Upkeep, text: str) -> str:
        """Wait, and write."""
        began.append("note")
        go.wait(FOREVER)
        id: str = self._client.ask("records.add", text=text).id
        return id

    monkeypatch.setattr(Upkeep, "look", operation("upkeep.look", "GET /look")(look), raising=False)
    wrote = operation("upkeep.note", "POST /note", permission=Permission.WRITE)(note)
    monkeypatch.setattr(Upkeep, "note", wrote, raising=False)
    yield go, began
    go.set()
    del TABLE["upkeep.look"], TABLE["upkeep.note"]


def test_cancelled_reads_are_given_up_and_writes_finish(
    slow: tuple[threading.Event, list[str]], serving: Serving
) -> None:
    go, began = slow

    async def story(url: str) -> None:
        memory = AsyncAgentMemory("ada", store=url)
        sync, threads = memory._sync, memory._threads
        most = sync._client.transport.threads
        reading = [asyncio.create_task(threads.run(sync.upkeep.look)) for _ in range(most + 2)]  # type: ignore[attr-defined]
        await until_then(lambda: began.count("look") == most)
        for task in reading:
            task.cancel()
        assert all(
            isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*reading, return_exceptions=True)
        )
        # its threads are free again, though nobody answered
        assert await asyncio.wait_for(memory.records.find(), PATIENCE) == []
        writing = asyncio.create_task(threads.run(lambda: sync.upkeep.note("kept")))  # type: ignore[attr-defined]
        await until_then(lambda: "note" in began)
        writing.cancel()
        go.set()
        await until_then(lambda: sync.records.find())
        assert [one.text for one in await memory.records.find()] == ["kept"]
        await memory.close()

    with serving() as url:
        asyncio.run(story(url))


GUIDE = Path(__file__).parents[2] / "docs/guides/client.md"


@pytest.mark.parametrize("code", re.findall(r"^```py\n(.*?)^```", GUIDE.read_text("utf-8"), re.S | re.M))
def test_the_guide_runs(serving: Serving, code: str) -> None:
    with serving() as url:
        said = code.replace("http://127.0.0.1:8005", url)
        ran = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, timeout=PATIENCE)
    assert url in said and ran.returncode == 0 and ran.stdout, ran.stderr


def test_the_command_line_speaks_to_a_server(serving: Serving, here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as url:
        at = ("--store", url, "--user", "ada")
        id = here(*at, "add", "the deploy failed", "--json").json["id"]
        assert "the deploy failed" in here(*at, "recall", "deploy").out
        monkeypatch.setenv("AGENT_MEMORY_STORE", url)
        assert id in here("--user", "ada", "list").out
        assert here("--user", "ada", "journal").out.count("put") == 1
        assert here("--user", "ada", "forget", id, "--yes", "--reason", "a mistake").code == 0
        gone = here("--user", "ada", "show", id)
        assert gone.code == 3 and "was forgotten on" in gone.err and "a mistake" in gone.err
        assert here("--user", "ada", "show", "nobody").code == 3
        remembered = here("--user", "ada", "remember", "--query", "deploy", "--weights", '{"episodic": 0}', "--json")
        assert remembered.code == 0 and remembered.json["relevant_turns"] == []
        told = here("doctor")
        assert told.code == 0 and "answers in" in told.out and "\nok    embedder" not in told.out
    monkeypatch.setenv("AGENT_MEMORY_STORE", f"http://127.0.0.1:{free_port()}")
    assert here("list").code == 6
    told = here("doctor")
    assert told.code == 1 and "no server can be reached" in told.out and "agent-memory serve" in told.out
