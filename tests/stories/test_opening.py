"""Stores that fail in the middle, and what each client brings along."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AgentMemory
from agent_memory.engines.sqlite import schema
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.stock import SqliteStock
from agent_memory.models.errors import InvalidInput, StoreError
from agent_memory.ports.embedder import Passage, Space


def test_an_old_store_that_cannot_be_written_says_so(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.records.add("x")
    memory.close()
    scripts = schema.migrations()
    monkeypatch.setattr(schema, "migrations", lambda: {**scripts, max(scripts) + 1: "create table more (x);"})
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match="read-only, and its schema has version"):
        AgentMemory(user_id="ada")


class Failing(sqlite3.Connection):
    """The disk fails when a transaction is taken back."""

    def rollback(self) -> None:
        raise sqlite3.OperationalError("disk I/O error")


def test_a_connection_that_failed_is_not_used_again(memory: AgentMemory, home: Path) -> None:
    memory.records.add("x")
    connections = Connections(home / "memory.db")
    for using in (connections.reading, connections.writing, lambda: connections.writing(durable=False)):
        failing = sqlite3.connect(home / "memory.db", isolation_level=None, factory=Failing)
        connections._idle[:] = [failing]
        with pytest.raises(StoreError, match="nowhere"), using() as connection:
            connection.execute("select * from nowhere")
        assert connections._idle == []
        with pytest.raises(sqlite3.ProgrammingError):
            failing.execute("select 1")
    with connections.writing() as connection:
        assert connection.execute("pragma synchronous").fetchone() == (2,)
    connections.close()


class Interrupted:
    """A connection that is broken off at its nth statement."""

    text_factory = str

    def __init__(self, connection: sqlite3.Connection, after: int) -> None:
        self.connection = connection
        self.left = after

    def execute(self, *arguments: object) -> sqlite3.Cursor:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.connection.execute(*arguments)  # type: ignore[arg-type]


def test_an_interrupted_search_leaves_no_rows_twice(memory: AgentMemory) -> None:
    index = memory._client.runtime.store.index
    memory.records.add("the first note")
    memory.recall("note")
    (shelf,) = index.shelves._shelves.values()  # type: ignore[attr-defined]
    broken = 0
    for after in range(8):
        memory.records.add(f"note number {after}")
        with index._connections.reading() as connection:  # type: ignore[attr-defined]
            try:
                stock = SqliteStock(connection, index._interning, "default", shelf.era)  # type: ignore[attr-defined]
                stock._connection = Interrupted(connection, after)  # type: ignore[assignment]
                shelf.follow(stock, lambda _: (), {})
            except KeyboardInterrupt:
                broken += 1
            else:
                break
        found = [hit.text for hit in memory.recall("note", k=20)]
        assert sorted(found) == sorted({"the first note", *(f"note number {one}" for one in range(after + 1))})
    assert broken >= 3


def test_shelves_that_a_question_needs_stay_however_large(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_memory.ledger.shelves.shelves.CACHE_BYTES", 1)
    with AgentMemory("ann") as ann, AgentMemory("bob") as bob, AgentMemory("*", shared=True) as everyone:
        for memory in (ann, bob, everyone):
            memory.records.add("the lamp is broken")
        index = ann._client.runtime.store.index
        bob.recall("lamp")
        assert len(ann.recall("lamp").hits) == 2
        kept = dict(index.shelves._shelves)  # type: ignore[attr-defined]
        assert len(kept) == 2, "Ann's own and the shared one, and no longer Bob's"
        ann.recall("broken lamp")
        assert index.shelves._shelves == kept, "they were not loaded again"  # type: ignore[attr-defined]


class Twin:
    """Two of these claim one space, and are not the same."""

    def __init__(self, number: int) -> None:
        self.space = Space("twin", "1", 4)
        self.number = number

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.zeros((len(texts), 4), np.float32)
        rows[:, self.number] = 1
        return rows


def test_a_client_gets_the_embedder_that_it_brought() -> None:
    one, two = Twin(1), Twin(2)
    with (
        AgentMemory(user_id="ada", embedder=one) as first,
        AgentMemory(user_id="ada", embedder=two) as second,
        AgentMemory(user_id="bob", embedder=one) as third,
        AgentMemory(user_id="ada") as plain,
    ):
        assert first.embedder.embed_single("x")[1] == second.embedder.embed_single("x")[2] == 1
        assert third._client.runtime is first._client.runtime
        assert len(plain.embedder.embed_single("x")) == 384
        first.records.add("one store for all of them")
        assert second.records.find()[0].text == "one store for all of them"


def test_what_all_users_share_is_asked_for_twice() -> None:
    for wrong in (dict(user_id="*"), dict(user_id="ada", shared=True)):
        with pytest.raises(InvalidInput) as caught:
            AgentMemory(**wrong)
        assert caught.value.field == "user_id" and caught.value.hint
    with AgentMemory(user_id="*", shared=True) as everybody, AgentMemory(user_id="ada") as ada:
        everybody.records.add("the office is closed on Friday")
        assert [record.text for record in ada.records.find()] == ["the office is closed on Friday"]


@pytest.mark.parametrize("wrong", ["", "  ", "a\0b", "x" * 600, "\ud800", 7, b"c", ["c"]])
def test_a_conversation_has_a_name(memory: AgentMemory, wrong: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        AgentMemory(user_id="ada", conversation_id=wrong)  # type: ignore[arg-type]
    assert caught.value.field == "conversation_id"
    with pytest.raises(InvalidInput) as caught:
        memory.conversation_id = wrong  # type: ignore[assignment]
    assert caught.value.field == "conversation_id"
    assert memory.conversation_id == "c1" and memory._client.runtime.clients == 1
