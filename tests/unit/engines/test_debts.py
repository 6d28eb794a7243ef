"""Debts on SQLite: they outlive the process, hold no words, and `verify` looks after them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent_memory.engines.sqlite import open_store
from agent_memory.ports.changes import Erase
from agent_memory.testing.builders import ALICE, put, write


@pytest.fixture
def owing(tmp_path: Path) -> Path:
    path = tmp_path / "memory.db"
    store = open_store(path)
    assert store.debts is not None
    store.debts.attach("working toy://")
    write(store, put("the canary sings", id="a"))
    write(store, Erase("a"))
    store.close()
    return path


def test_they_are_there_when_the_store_is_opened_again(owing: Path) -> None:
    assert b"canary" not in owing.read_bytes()
    store = open_store(owing)
    assert store.debts is not None
    assert [one.id for one in store.debts.owed("working toy://", 9)] == ["a"]
    assert store.records.verify(ALICE.tenant).problems == ()
    store.close()


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("update debts set id = 'b'", "debts:"),
        ("update places set name = 'elsewhere'", "places:"),
        ("delete from places", "debts of a place that is not there"),
    ],
)
def test_verify_notices_damage(owing: Path, damage: str, found: str) -> None:
    with closing(sqlite3.connect(owing)) as connection, connection:
        connection.execute(damage)
    store = open_store(owing)
    assert [one for one in store.records.verify(ALICE.tenant).problems if found in one]
    store.close()
