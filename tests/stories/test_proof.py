"""`verify` notices whatever is changed behind its back: each of these is one statement that somebody could run."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_memory import AgentMemory, Turn
from agent_memory.models.record import Link

WRITTEN = "is not what was written"
GONE = "is gone, and nobody erased it"
LAST_NOTE = "(select max(version) from versions where id = 'note')"

TAMPERING = {
    "another id": ("update versions set id = 'forged' where id = 'note'", WRITTEN),
    "another kind": (
        "update versions set kind = (select name from names where text = 'turn') where id = 'note'",
        WRITTEN,
    ),
    "another number": (f"update versions set number = 7 where version = {LAST_NOTE}", WRITTEN),
    "another key": ("update versions set key = 'forged' where id = 'keyed'", WRITTEN),
    "another conversation": ("update labels set text = 'forged'", WRITTEN),
    "another place in it": ("update versions set position = 5 where position = 0", WRITTEN),
    "another scope": (
        "update versions set scope = (select scope from scopes where user = 'eve') where id = 'note'",
        GONE,
    ),
    "another owner of the scope": ("update scopes set user = 'mallory' where user = 'ada'", WRITTEN),
    "another actor": ("update actors set text = 'mallory' where text = 'ada'", "does not follow"),
    "an old version believed again": ("update versions set to_seq = null where id = 'note'", WRITTEN),
    "a version believed for longer": (
        "update versions set to_seq = (select max(line) from journal) where id = 'note' and to_seq is not null",
        "versions that no line of their record ended",
    ),
    "a version ended by another line of its record": (
        f"update versions set to_seq = {LAST_NOTE} where id = 'note' and number = 1",
        WRITTEN,
    ),
    "a version no longer believed": (f"update versions set to_seq = version where version = {LAST_NOTE}", WRITTEN),
    "another content": (
        f"update versions set content = (select content from versions where id = 'keyed') where version = {LAST_NOTE}",
        WRITTEN,
    ),
    "a link cut": ("update links set to_seq = (select max(line) from journal) where to_seq is null", "ended"),
    "a cut link standing again": ("update links set to_seq = null", GONE),
    "a link in another scope": ("update links set scope = (select scope from scopes where user = 'eve')", GONE),
    "a link to another record": (
        "update links set target = (select record from versions where id = 'note') where weight = 0.25",
        GONE,
    ),
    "another weight": ("update links set weight = 0.75 where weight = 0.25", WRITTEN),
    "a record taken away": ("delete from versions where id = 'keyed'", GONE),
    "a tombstone taken away": ("delete from tombstones", GONE),
    "a forged tombstone": (
        "insert into tombstones select record, id, scope, version from versions where id = 'keyed'",
        "tombstones without a journal line",
    ),
    "other words": ("update words set length = length + 1", "words that do not follow"),
    "words of another text": (
        "update words set terms = (select max(terms) from words) where terms <> (select max(terms) from words)",
        "words that do not follow",
    ),
    "another field": ("update fields set value = 'assistant' where value = 'user'", "fields that do not follow"),
    "a missing field": ("delete from fields", "fields that do not follow"),
    "a field of nothing": ("insert into fields values (1, 'x', 999)", "fields of no content"),
    "a missing vector": (
        "delete from vectors where content = (select max(content) from contents)",
        "neither vector nor a place in the queue",
    ),
    "vectors in another scope": ("update vectors set scope = 99", "vectors in another scope"),
    "another operation": ("update journal set operation = 77 where number = 2", "does not follow"),
    "a digest of another type": ("update journal set digest = 'text' where number = 2", "does not follow"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store with something of everything."""
    path = tmp_path_factory.mktemp("proof") / "memory.db"
    store = f"sqlite:///{path}"
    with AgentMemory(user_id="eve", store=store) as eve:
        eve.records.add("eve was here")
    with AgentMemory(user_id="ada", store=store) as memory:
        for text in ("I owe you ten", "I owe you nine", "I owe you eight"):
            memory.records.add(text, id="note")
        memory.records.add("has a key", id="keyed", key="k")
        memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content="hello there"))
        for weight in (1.0, 0.25):
            memory.records.link(Link(source_id="keyed", target_id="note", type="about", weight=weight))
        memory.records.link(Link(source_id="note", target_id="keyed", type="about", weight=0.5))
        memory.records.unlink("note", "keyed", "about")
        memory.records.link(Link(source_id="keyed", target_id="keyed", type="about", weight=0.25))
        memory.records.forget([memory.records.add("to be forgotten").id])
        proof = memory.upkeep.verify()
        assert proof.ok, proof.problems
        assert proof.checked["derived"] == 7
    yield path


@pytest.mark.parametrize("how", TAMPERING)
def test_tampering_is_noticed(how: str, written: Path, tmp_path: Path) -> None:
    statement, said = TAMPERING[how]
    copy = tmp_path / "copy.db"
    shutil.copy(written, copy)
    with sqlite3.connect(copy) as connection:
        assert connection.execute(statement).rowcount
    connection.close()
    with AgentMemory(user_id="ada", store=f"sqlite:///{copy}") as memory:
        proof = memory.upkeep.verify()
    assert not proof.ok
    assert any(said in problem for problem in proof.problems), proof.problems
