"""Stores that cannot be used say why; old ones are upgraded; derived data can be made again. L10, E10."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AgentMemory
from agent_memory.engines.sqlite import schema
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.models import Entity
from agent_memory.models.errors import AgentMemoryError, InvalidInput, PartMissing, StoreError, StoreNewer
from agent_memory.ports.embedder import Passage, Space

ROOT = Path(__file__).parents[2]


def test_a_directory_in_the_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="directory"):
        AgentMemory(user_id="ada", store=f"sqlite:///{tmp_path}")


def everything_in(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("statement", ["create table theirs (x)", "pragma user_version = 1"])
def test_another_programs_database_is_left_alone(tmp_path: Path, mode: str, statement: str) -> None:
    path = tmp_path / "their #1 %20 ? file.db"
    with sqlite3.connect(path) as other:
        other.execute(f"pragma journal_mode = {mode}")
        other.execute(statement)
    other.close()
    before = everything_in(tmp_path)
    with pytest.raises(StoreError, match="another program"):
        AgentMemory(user_id="ada", store=path)
    assert everything_in(tmp_path) == before


def test_a_foreign_database_in_use_is_left_alone(tmp_path: Path) -> None:
    """What makes it foreign may still be in its log."""
    path = tmp_path / "other.db"
    other = sqlite3.connect(path)
    other.execute("pragma journal_mode = wal")
    other.execute("create table theirs (x)")
    other.commit()
    before = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    with pytest.raises(StoreError, match="another program"):
        AgentMemory(user_id="ada", store=path)
    assert (path.read_bytes(), Path(f"{path}-wal").read_bytes()) == before
    other.close()


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are notes, not a database, and they are longer than a header " * 20)
    with pytest.raises(StoreError, match="no SQLite database"):
        AgentMemory(user_id="ada", store=f"sqlite:///{path}")
    assert path.read_text().startswith("these are notes")


def test_a_half_written_file_is_noticed(memory: AgentMemory, home: Path) -> None:
    for number in range(50):
        memory.records.add(f"note {number}", payload={"n": number})
    memory.close()
    path = home / "memory.db"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(AgentMemoryError) as caught, AgentMemory(user_id="ada") as broken:
        broken.recall("note")
        assert not broken.upkeep.verify().ok
        raise StoreError("verify noticed")
    assert "Traceback" not in str(caught.value)


def test_a_newer_store_is_refused_and_untouched(memory: AgentMemory, home: Path) -> None:
    memory.records.add("from the future")
    memory.close()
    with sqlite3.connect(home / "memory.db") as connection:
        connection.execute("pragma user_version = 999")
    connection.close()
    before = everything_in(home)
    with pytest.raises(StoreNewer, match="999") as caught:
        AgentMemory(user_id="ada")
    assert "upgrade" in caught.value.hint
    assert everything_in(home) == before


def test_a_store_that_was_upgraded_while_open_takes_no_more_writes(memory: AgentMemory, home: Path) -> None:
    memory.records.add("before")
    with sqlite3.connect(home / "memory.db") as connection:
        connection.execute("pragma user_version = 999")
    connection.close()
    with pytest.raises(StoreNewer):
        memory.records.add("after")
    with sqlite3.connect(home / "memory.db") as connection:
        connection.execute(f"pragma user_version = {max(schema.migrations())}")
    connection.close()
    assert [record.text for record in memory.records.find()] == ["before"]


FULL = """
import resource, sys
from agent_memory import AgentMemory
from agent_memory.models.errors import AgentMemoryError
memory = AgentMemory(user_id="ada")
kept = memory.records.add("written while there was room").id
resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
acknowledged = [kept]
try:
    for number in range(500):
        acknowledged.append(memory.records.add(f"note {number} " + "x" * 3000).id)
except AgentMemoryError as error:
    print(error.code)
else:
    sys.exit("it never got full")
print(",".join(acknowledged))
"""


def test_a_full_disk_loses_nothing_that_was_acknowledged(home: Path) -> None:
    """A limit on the size of files stands for a full disk: SQLite meets a failing write either way."""
    ran = subprocess.run([sys.executable, "-c", FULL], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    code, ids = ran.stdout.split()
    assert code in ("store_full", "store_unavailable")
    with AgentMemory(user_id="ada") as memory:
        assert memory.upkeep.verify().ok
        assert {record.id for record in memory.records.find(limit=1000)} == set(ids.split(","))


def test_a_store_that_is_none(tmp_path: Path) -> None:
    os.symlink(tmp_path / "circle", tmp_path / "circle")
    for url in (
        "",
        "sqlite://",
        "sqlite:///",
        "sqlite:///a\0b",
        "a\ud800b",
        "No Such://x",
        "~no-such-user/x.db",
        "sqlite:///~no-such-user/x.db",
        ":memory:",
        tmp_path / "circle",
        7,
    ):
        with pytest.raises(InvalidInput) as caught:
            AgentMemory(user_id="ada", store=url)  # type: ignore[arg-type]
        assert caught.value.field == "store", url
    with pytest.raises(PartMissing, match="oracle"):
        AgentMemory(user_id="ada", store="oracle://x")
    for path in (tmp_path / ("x" * 300), tmp_path / ("x" * 300) / "memory.db", "/dev/null/memory.db"):
        with pytest.raises(StoreError, match="cannot be created"):
            AgentMemory(user_id="ada", store=path)


def test_a_home_that_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AGENT_MEMORY_HOME", "~no-such-user")
    with pytest.raises(InvalidInput):
        AgentMemory(user_id="ada")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AGENT_MEMORY_HOME", "~/mine")
    AgentMemory(user_id="ada").close()
    assert (tmp_path / "mine" / "memory.db").exists()


def test_a_path_is_a_store(tmp_path: Path) -> None:
    for store in (tmp_path / "a b%20#?.db", str(tmp_path / "b.db"), "notes/memory.db", Path("c.db"), "sqlite:///d.db"):
        with AgentMemory(user_id="ada", store=store) as memory:
            memory.records.add("x")
    assert sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*.db")) == [
        "a b%20#?.db",
        "b.db",
        "c.db",
        "d.db",
        "notes/memory.db",
    ]


def test_another_working_directory_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.symlink(tmp_path, tmp_path / "link")
    with AgentMemory(user_id="ada", store="sqlite:///rel.db") as memory:
        memory.records.add("here")
        monkeypatch.chdir(elsewhere)
        memory._client.runtime.store.records._connections._empty()  # type: ignore[attr-defined]
        assert [record.text for record in memory.records.find()] == ["here"]
        for same in ("../rel.db", tmp_path / "rel.db", tmp_path / "link" / "rel.db"):
            with AgentMemory(user_id="ada", store=same) as again:
                assert again._client.runtime is memory._client.runtime
        with AgentMemory(user_id="ada", store="rel.db") as other:
            assert other.records.find() == []
    assert (elsewhere / "rel.db").exists()


def test_a_store_that_was_removed_is_not_made_again(memory: AgentMemory, home: Path) -> None:
    memory.records.add("x")
    memory._client.runtime.store.records._connections._empty()  # type: ignore[attr-defined]
    (home / "memory.db").rename(home / "moved.db")
    with pytest.raises(StoreError, match="cannot be opened"):
        memory.records.find()
    assert not (home / "memory.db").exists()
    (home / "moved.db").rename(home / "memory.db")


READ_ONLY = """
import logging, os, sys, time
logging.basicConfig(level="WARNING")
from agent_memory import AgentMemory
from agent_memory.models.errors import StoreError
if os.geteuid() == 0:  # who may write everywhere becomes somebody else, as soon as all modules are loaded
    warm = AgentMemory(user_id="ada", store=sys.argv[2])
    warm.records.add("x"), warm.recall("x"), warm.working.set("k", 1), warm.upkeep.rebuild(), warm.upkeep.verify()
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
with AgentMemory(user_id="ada", store=sys.argv[1]) as memory:
    assert [record.text for record in memory.records.find(limit=1)] == ["later note 19"]
    found = memory.recall("where do the boats go?")
    assert found[0].text == "the boats go to the harbour", found
    assert found.pending == 20
    assert memory.working.get("anything") is None
    assert memory.upkeep.verify().ok and memory.upkeep.stats()["records"] == 21
    for write in (lambda: memory.records.add("x"), lambda: memory.working.set("k", 1), memory.upkeep.rebuild):
        try:
            write()
        except StoreError as error:
            assert "read-only" in str(error), error
        else:
            sys.exit("it could be written")
os._exit(0)  # not even the log that the warm-up wrote to can be closed now
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions of another kind")
@pytest.mark.parametrize("log", [False, True], ids=["closed", "in use"])
def test_a_store_that_cannot_be_written_can_be_read(log: bool, tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder, store = Path(name), Path(name) / "memory.db"
        writer = AgentMemory(user_id="ada", store=store)
        writer.records.add("the boats go to the harbour")
        writer.records.add_many([{"text": f"later note {number}"} for number in range(20)])
        if not log:
            writer.close()
        for file in folder.iterdir():
            file.chmod(0o444)
        folder.chmod(0o555)
        before = everything_in(folder)
        command = [sys.executable, "-c", READ_ONLY, str(store), str(tmp_path / "warm.db")]
        try:
            ran = subprocess.run(command, capture_output=True, text=True)
            assert (ran.returncode, ran.stderr) == (0, "")
            if not log:
                assert everything_in(folder) == before
        finally:
            folder.chmod(0o700)
            for file in folder.iterdir():
                file.chmod(0o600)
            writer.close()


def test_an_old_store_that_cannot_be_written_says_so(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.records.add("x")
    memory.close()
    scripts = schema.migrations()
    monkeypatch.setattr(schema, "migrations", lambda: {**scripts, max(scripts) + 1: "create table more (x);"})
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(StoreError, match="read-only, and its schema is of version"):
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
    (shelf,) = index._shelves.values()  # type: ignore[attr-defined]
    broken = 0
    for after in range(8):
        memory.records.add(f"note number {after}")
        with index._connections.reading() as connection:  # type: ignore[attr-defined]
            try:
                shelf.follow(Interrupted(connection, after), 10_000 + after, (1, 384))
            except KeyboardInterrupt:
                broken += 1
            else:
                break
        found = [hit.text for hit in memory.recall("note", k=20)]
        assert sorted(found) == sorted({"the first note", *(f"note number {one}" for one in range(after + 1))})
    assert broken >= 3


def test_shelves_that_a_question_needs_stay_however_large(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_memory.engines.sqlite.index.CACHE_BYTES", 1)
    with AgentMemory("ann") as ann, AgentMemory("bob") as bob, AgentMemory("*", shared=True) as everyone:
        for memory in (ann, bob, everyone):
            memory.records.add("the lamp is broken")
        index = ann._client.runtime.store.index
        bob.recall("lamp")
        assert len(ann.recall("lamp").hits) == 2
        kept = dict(index._shelves)  # type: ignore[attr-defined]
        assert len(kept) == 2, "Ann's own and the shared one, and no longer Bob's"
        ann.recall("broken lamp")
        assert index._shelves == kept, "they were not loaded again"  # type: ignore[attr-defined]


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


@pytest.mark.requirement("L10")
def test_each_migration_is_one_step_and_keeps_the_data(tmp_path: Path) -> None:
    """A store of today meets a version of tomorrow: its script runs once, in one transaction, on the old rows."""
    path = tmp_path / "m.db"
    with AgentMemory(user_id="ada", store=f"sqlite:///{path}") as memory:
        memory.records.add("written by the old version")
    today = schema.migrations()
    newest = max(today)
    step = "create table extra (x);\ninsert into extra select text from contents;"
    connections = Connections(path)
    with pytest.raises(AgentMemoryError):
        schema.upgrade(connections, {**today, newest + 1: step + "\ninsert into nowhere values (1);"})
    schema.upgrade(connections, today)  # the failed step left nothing behind
    for _ in range(2):
        schema.upgrade(connections, {**today, newest + 1: step})
    with connections.reading() as connection:
        assert connection.execute("select x from extra").fetchall() == [("written by the old version",)]
    connections.close()


@pytest.mark.requirement("L10")
def test_the_second_step_learns_from_receipts_when_records_were_recalled(timed: AgentMemory, clock: Any) -> None:
    ada = timed.upsert_entity(Entity(name="Ada", type="Person"))
    first = clock.forward(days=1)
    timed.recall("Ada")
    clock.forward(days=1)
    timed.recall("Ada")
    path = timed._client.runtime.url.removeprefix("sqlite:///")
    timed.close()
    old = sqlite3.connect(path)
    old.executescript("drop table accessed; drop table keys; drop table refusals; pragma user_version = 1;")
    old.close()
    with AgentMemory(user_id="ada", clock=clock) as memory:
        assert memory.semantic.get_entity(ada.id).access_count == 2
        assert memory.semantic.get_entity(ada.id, as_of=first).access_count == 1


@pytest.mark.requirement("L10")
@pytest.mark.parametrize("dump", sorted((ROOT / "tests/data").glob("store-*.sql")), ids=lambda path: path.stem)
def test_stores_of_every_released_version_open(dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    old = sqlite3.connect(path)
    old.executescript(dump.read_text("utf-8"))
    old.close()
    with AgentMemory(user_id="ada", store=f"sqlite:///{path}") as memory:
        proof = memory.upkeep.verify()
        assert proof.ok, proof.problems
        assert memory.user.get_preference("git", "merge style") == "rebase"
        assert memory.recall("which port does staging listen on?", k=1)[0].text == "staging listens on port 5433"
        ways = {hit.text: hit.why.entities for hit in memory.recall("what about ADA?")}
        assert ways["Ada is on call"] == ["Ada ← ABOUT"]
        memory.records.add("written by the new version")
        assert memory.upkeep.verify().ok


def test_derived_data_can_be_made_again(memory: AgentMemory, home: Path) -> None:
    for text in ("the lighthouse keeper retired", "the harbour freezes in January"):
        memory.records.add(text)
    memory.add_goal(__import__("agent_memory").Goal(description="paint the boat"))
    before = [(hit.text, hit.score) for hit in memory.recall("who left the lighthouse?")]
    memory.close()
    with sqlite3.connect(home / "memory.db") as connection:
        for table in ("words", "fields", "vectors"):
            connection.execute(f"delete from {table}")
        connection.execute("drop view goals")
    connection.close()
    with AgentMemory(user_id="ada") as again:
        assert not again.upkeep.verify().ok
        made = again.upkeep.rebuild()
        assert made["contents"] == 3 and made["vectors"] == 3 and made["pending_vectors"] == 0
        assert again.upkeep.verify().ok
        assert [goal.description for goal in again.get_active_goals()] == ["paint the boat"]
        after = [(hit.text, hit.score) for hit in again.recall("who left the lighthouse?")]
        assert [text for text, _ in after] == [text for text, _ in before]


def test_tampering_is_noticed(memory: AgentMemory, home: Path) -> None:
    memory.records.add("I owe you ten")
    memory.records.add("and you owe me nothing")
    memory.close()
    for statement, said in (
        (
            "update contents set text = 'I owe you two' where content = (select min(content) from contents)",
            "is not what was written",
        ),
        ("update versions set importance = 0.9", "is not what was written"),
        ("delete from journal where seq = 2", "missing"),
        ("update journal set reason = 'x' where seq = 2", "does not follow"),
    ):
        copy = home / "copy.db"
        copy.write_bytes((home / "memory.db").read_bytes())
        with sqlite3.connect(copy) as connection:
            connection.execute(statement)
        connection.close()
        with AgentMemory(user_id="ada", store=f"sqlite:///{copy}") as changed:
            proof = changed.upkeep.verify()
        assert not proof.ok and any(said in problem for problem in proof.problems), (statement, proof.problems)
        for leftover in home.glob("copy.db*"):
            leftover.unlink()


@pytest.mark.requirement("E10")
def test_nothing_is_loaded_before_it_is_needed(home: Path) -> None:
    code = """
import sys
from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada")
memory.records.find()
memory.working.set("k", 1)
assert not {"numpy", "onnxruntime"} & set(sys.modules), "reading by key needs no arithmetic"
memory.records.add("now the model is needed")
assert not memory._client.runtime.store.index._shelves, "and no vectors before the first search"
memory.recall("model")
assert list(memory._client.runtime.store.index._shelves) == [1], "then only those of this scope"
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_the_file_is_private(memory: AgentMemory, home: Path) -> None:
    memory.records.add("x")
    assert os.stat(home / "memory.db").st_mode & 0o077 == 0
    assert os.stat(home).st_mode & 0o077 == 0


def test_people_can_read_the_store_with_any_sql_tool(memory: AgentMemory, home: Path) -> None:
    memory.user.set_preference("git", "merge style", "rebase")
    memory.add_goal(__import__("agent_memory").Goal(description="upgrade Postgres", priority=5))
    reader = sqlite3.connect(f"file:{home / 'memory.db'}?mode=ro", uri=True)
    assert reader.execute("select domain, name, value from preferences").fetchall() == [
        ("git", "merge style", "rebase")
    ]
    assert reader.execute("select text, status, priority from goals").fetchall() == [("upgrade Postgres", "active", 5)]
    reader.close()
