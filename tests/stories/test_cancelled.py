"""Calls that nobody waits for any more: reads stop and free their thread, writes are wholly there or not at all."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AsyncAgentMemory
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.schema import open_file
from agent_memory.models.errors import NotFound
from agent_memory.ports.abandon import AbandonableCall, Abandoned, finishing
from agent_memory.ports.embedder import Passage, Space
from patience import PATIENCE, until_then

NUMBERS = "with recursive n(i) as (select began() union all select i + 1 from n {})"
ENDLESS = NUMBERS.format("") + " select count(*) from n"


class Slow:
    """An embedder that takes its time, or as long as it is held, says when it began, and counts."""

    space = Space("slow", "1", 4)

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.began, self.free = threading.Event(), threading.Event()
        self.free.set()
        self.texts = 0

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.began.set()
        assert self.free.wait(PATIENCE)
        time.sleep(self.seconds)
        self.texts += len(texts)
        return np.full((len(texts), 4), 0.5, np.float32)


async def cancelled(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "recall": lambda memory: memory.recall("which note?"),
    "remember": lambda memory: memory.remember("which note?"),
    "context": lambda memory: memory.assemble_context("the notes"),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_a_cancelled_read_stops_before_its_next_step(ask: Callable[[Any], Any]) -> None:
    """The step that is under way ends; then its thread is free, and nothing tells of an answer that nobody got."""

    async def story() -> None:
        embedder = Slow()
        async with AsyncAgentMemory("ada", embedder=embedder) as memory:
            await memory.records.add_many([{"text": f"note {number}"} for number in range(200)])
            embedder.began.clear()
            embedder.free.clear()
            tasks = [asyncio.create_task(ask(memory)) for _ in range(8)]  # twice as many as there are threads
            await asyncio.to_thread(embedder.began.wait)
            for task in tasks:
                await cancelled(task)
            embedder.free.set()
            assert (await memory.records.find(limit=1))[0].text.startswith("note")
            assert embedder.texts < 100, "it went on to make the vectors of all that was pending"
            assert await memory.receipts.find() == []
            assert len((await memory.recall("which note?", k=3)).hits) == 3

    asyncio.run(story())


def test_vectors_that_were_made_are_kept_when_a_read_stops() -> None:
    async def story() -> None:
        embedder = Slow()
        async with AsyncAgentMemory("ada", embedder=embedder) as memory:
            await memory.records.add_many([{"text": f"note {number}"} for number in range(50)])
            embedder.seconds = 0.05
            task = asyncio.create_task(memory.recall("which note?"))
            await until_then(lambda: embedder.texts >= 3)  # the question, and at least one of what was pending
            await cancelled(task)
            before = (await memory.upkeep.stats())["pending_vectors"]
            await until_then(lambda: memory._sync.upkeep.stats()["pending_vectors"] < 50)
            assert before <= 50 and (await memory.upkeep.verify()).ok

    asyncio.run(story())


@pytest.mark.parametrize("moment", [0.0, 0.002, 0.01, 0.05, 0.15])
def test_a_cancelled_write_is_wholly_there_or_not(moment: float) -> None:
    async def story() -> None:
        embedder = Slow(0.05)
        async with AsyncAgentMemory("ada", embedder=embedder) as memory:
            tasks = [
                asyncio.create_task(memory.records.add("one", id="one")),
                asyncio.create_task(memory.records.add_many([{"text": f"{n}", "id": f"m{n}"} for n in range(300)])),
            ]
            await asyncio.sleep(moment)
            begun = embedder.began.is_set()
            for task in tasks:
                if not task.done():
                    await cancelled(task)
            embedder.seconds = 0.0
            await memory.close()
        async with AsyncAgentMemory("ada", embedder=Slow()) as memory:
            many = [one for one in await memory.records.find(limit=1000) if one.id.startswith("m")]
            assert len(many) in (0, 300)
            try:
                assert (await memory.records.get("one")).text == "one"
            except NotFound:
                assert not begun, "it had begun, and was not finished"
            proof = await memory.upkeep.verify()
            assert proof.ok, proof.problems

    asyncio.run(story())


# -- the engine: what stops a read of SQLite


@pytest.fixture
def connections(tmp_path: Path) -> Connections:
    return open_file(tmp_path / "store.db")


def abandoned(
    work: Callable[[sqlite3.Connection], Any], opened: Callable[[], AbstractContextManager[sqlite3.Connection]]
) -> BaseException | None:
    """Run in a thread, and give it up once a statement has begun: it comes back, and with what."""
    call, raised, began = AbandonableCall(), list[BaseException](), threading.Event()

    def first() -> int:
        began.set()
        return 1

    def begun() -> None:
        with opened() as connection:
            connection.create_function("began", 0, first)
            work(connection)

    def run() -> None:
        try:
            call.run(begun)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(PATIENCE)
    call.abandon()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    return raised[0] if raised else None


def test_a_query_that_would_never_end_is_interrupted(connections: Connections) -> None:
    for _ in range(3):  # the connection is used again
        error = abandoned(lambda connection: connection.execute(ENDLESS).fetchone(), connections.reading)
        assert isinstance(error, Abandoned) and isinstance(error.__context__, sqlite3.OperationalError)
    assert len(connections._idle) == 1
    with connections.writing() as connection:
        connection.execute("insert into names (tenant, text) values (1, 'after')")
    with connections.reading() as connection:
        assert connection.execute("select count(*) from names where text = 'after'").fetchone() == (1,)


def test_rows_that_are_read_one_by_one_are_interrupted(connections: Connections) -> None:
    """A statement that is not at its end when it is given up must not spoil the next one."""

    def read(connection: sqlite3.Connection) -> None:
        for _ in connection.execute(NUMBERS.format("") + " select i from n"):
            pass

    assert isinstance(abandoned(read, connections.reading), Abandoned)
    for _ in range(3):
        with connections.reading() as connection:
            assert connection.execute("select 1").fetchone() == (1,)


def test_a_write_is_never_interrupted(connections: Connections) -> None:
    def write(connection: sqlite3.Connection) -> None:
        numbers = NUMBERS.format("where i < 300000") + " select i from n"
        connection.execute(f"insert into names (tenant, text) select 1, 'name ' || i from ({numbers})")

    assert abandoned(write, connections.writing) is None
    with connections.reading() as connection:
        assert connection.execute("select count(*) from names where text like 'name %'").fetchone() == (300_000,)


def test_what_everybody_needs_is_finished(connections: Connections) -> None:
    loaded = []

    def read(connection: sqlite3.Connection) -> None:
        with finishing():
            connection.execute("select began()").fetchone()
            time.sleep(0.3)  # it is given up meanwhile
            loaded.append(connection.execute("select 1").fetchone())
        connection.execute(ENDLESS).fetchone()

    assert isinstance(abandoned(read, connections.reading), Abandoned) and loaded == [(1,)]
