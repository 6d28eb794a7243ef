"""Stores that cannot be used say why; old ones are upgraded; derived data can be made again. L10, E10."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.engines.sqlite import schema
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.models.errors import AgentMemoryError, PartMissing, StoreError, StoreNewer

ROOT = Path(__file__).parents[2]


def test_a_directory_in_the_place_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="directory"):
        AgentMemory(user_id="ada", store=f"sqlite:///{tmp_path}")


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("create table theirs (x)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        AgentMemory(user_id="ada", store=f"sqlite:///{path}")
    assert path.read_bytes()[100:] == before[100:]  # the header's journal mode apart


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
    with pytest.raises(StoreNewer, match="999") as caught:
        AgentMemory(user_id="ada")
    assert "upgrade" in caught.value.hint


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


def test_a_url_that_is_none(tmp_path: Path) -> None:
    for url in ("memory.db", "sqlite://", "sqlite:///"):
        with pytest.raises(AgentMemoryError) as caught:
            AgentMemory(user_id="ada", store=url)
        assert caught.value.field == "store"
    with pytest.raises(PartMissing, match="oracle"):
        AgentMemory(user_id="ada", store="oracle://x")


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
