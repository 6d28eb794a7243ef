"""Old stores are upgraded, derived data can be made again, and tampering is noticed. L10, E10."""

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
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.moment import from_micros

ROOT = Path(__file__).parents[2]


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
def test_the_second_step_learns_from_receipts_when_records_were_recalled(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    old = sqlite3.connect(path)
    old.executescript((ROOT / "tests/data/store-0.1.0.sql").read_text("utf-8"))
    [(asked,)] = old.execute("select max(at) from receipts").fetchall()
    old.close()
    with AgentMemory(user_id="ada", store=f"sqlite:///{path}") as memory:
        [ada] = memory.records.find("entity")
        assert memory.semantic.get_entity(ada.id).access_count == 1
        before = from_micros(asked - 1)
        assert memory.semantic.get_entity(ada.id, as_of=before).access_count == 0


@pytest.mark.requirement("L10")
def test_lines_of_the_access_log_become_pages_and_views_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    path.touch()
    connections = Connections(path)
    schema.upgrade(connections, {number: step for number, step in schema.migrations().items() if number < 15})
    with connections.writing() as connection:
        line = (7, "default", "ada", "*", None, "cli", "recall", 'a"1 b2', 2, "INC-7", 900, 5, 0.25, "r", None)
        connection.execute(f"insert into reads values (1, {', '.join('?' * len(line))})", line)
        connection.execute(
            f"insert into reads values (2, {', '.join('?' * len(line))})", (8, *line[1:7], "", 0, *line[9:])
        )
        connection.execute("insert into tenants (name, base, salt, genesis) values ('default', 0, x'00', x'00')")
        connection.execute("create view facts as select 'held' as text, 'held' as record_status")
    connections.close()
    with AgentMemory(user_id="ada", store=f"sqlite:///{path}") as memory:
        memory.records.add("Ada lives in Rome", "fact")
        newer, older = [line for line in memory.govern.audit() if line.did == "read"]
        assert (newer.ids, older.ids, older.why, older.money, older.receipt_id) == (
            [],
            ['a"1', "b2"],
            "INC-7",
            0.25,
            "r",
        )
        assert [line.at for line in memory.govern.audit('a"1')] == [from_micros(7)]
    reader = sqlite3.connect(path)
    assert reader.execute("select text from facts").fetchall() == [("Ada lives in Rome",)]
    reader.close()


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


@pytest.mark.requirement("C2")
def test_conversations_from_before_they_were_records_are_listed(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    old = sqlite3.connect(path)
    old.executescript((ROOT / "tests/data/store-0.1.0.sql").read_text("utf-8"))
    old.close()
    with AgentMemory(user_id="ada", store=f"sqlite:///{path}") as memory:
        [talk] = {turn.conversation_id for turn in memory.records.find(kind="turn", limit=50)}
        older = memory.episodic.get_conversation(talk)
        assert older and memory.episodic.conversations() == []
        new = memory.episodic.append(talk, "user", "and one more")
        assert new.id and older[0].id
        assert memory.records.forget([new.id]).ids == [new.id], "the older turns keep the conversation"
        assert memory.upkeep.run_jobs()["conversations"] == {"turns": len(older) - 1, "behind": 0}
        [listed] = memory.episodic.conversations()
        assert (listed.conversation_id, listed.started_at) == (talk, older[0].timestamp)
        assert memory.upkeep.run_jobs()["conversations"] == {"turns": 0, "behind": 0} and memory.upkeep.verify().ok
        gone = memory.records.forget([turn.id for turn in older if turn.id])
        assert listed.id in gone.ids and memory.episodic.conversations() == []


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
        made_of = 4  # two notes, a goal, and the user who has it
        assert made["contents"] == made["vectors"] == made_of and made["pending_vectors"] == 0
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
        ("delete from journal where number = 2", "missing"),
        ("update journal set reason = 'x' where number = 2", "does not follow"),
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
shelves = memory._client.runtime.store.index.shelves._shelves
assert not shelves, "and no vectors before the first search"
memory.recall("model")
assert [place.scope.user for place in shelves] == ["ada"], "then only those of this scope"
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
    memory.records.add("Ada lives in Rome", "fact")
    memory.records.add("Ada lives in Oslo", "fact", source="extraction", confidence=0.1)  # waits for review
    memory.records.amend(memory.records.add("Ada lived in Bonn", "fact").id, status="archived")
    reader = sqlite3.connect(f"file:{home / 'memory.db'}?mode=ro", uri=True)
    assert reader.execute("select domain, name, value from preferences").fetchall() == [
        ("git", "merge style", "rebase")
    ]
    assert reader.execute("select text, status, priority from goals").fetchall() == [("upgrade Postgres", "active", 5)]
    assert reader.execute("select text, record_status from facts").fetchall() == [("Ada lives in Rome", "active")]
    reader.close()
