"""Stores that cannot be used say why, and are left as they are."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.engines.sqlite import schema
from agent_memory.models.errors import AgentMemoryError, InvalidInput, PartMissing, StoreError, StoreNewer


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


@pytest.mark.parametrize("how", ["removed", "replaced", "folder removed"])
def test_a_file_that_is_gone_takes_no_more_writes(how: str, tmp_path: Path) -> None:
    """They would go into a file that has no name any more, and be lost with the process."""
    path = tmp_path / "used" / "memory.db"
    path.parent.mkdir()
    with AgentMemory("ada", store=tmp_path / "other.db") as other:
        other.records.add("of another store", id="foreign")
    with AgentMemory("ada", store=path) as memory:
        memory.records.add("kept", id="kept")
        aside = tmp_path / "aside"
        path.parent.rename(aside)
        if how != "folder removed":
            path.parent.mkdir()
        if how == "replaced":
            (tmp_path / "other.db").rename(path)
        for call in (lambda: memory.records.add("lost"), lambda: memory.records.get("kept"), memory.upkeep.stats):
            with pytest.raises(StoreError, match="removed or replaced") as raised:
                call()
            assert raised.value.hint
        if path.parent.exists():
            path.parent.rename(tmp_path / "wrong")
        aside.rename(path.parent)
        memory.records.add("written when it was back", id="back")
    with AgentMemory("ada", store=path) as memory:
        assert {one.id for one in memory.records.find()} == {"kept", "back"}


def test_a_store_that_was_removed_is_not_made_again(memory: AgentMemory, home: Path) -> None:
    memory.records.add("x")
    memory._client.runtime.store.records._connections._empty()  # type: ignore[attr-defined]
    (home / "memory.db").rename(home / "moved.db")
    with pytest.raises(StoreError, match="removed or replaced"):
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
