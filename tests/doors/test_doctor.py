"""`agent-memory doctor`: what it says about healthy and sick stores, and that it only looks."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.app.doctor import CheckState, check_file_system, check_free_space, examine, has_reset_bug
from agent_memory.app.mounts import file_system
from agent_memory.engines.sqlite import scrub
from agent_memory.testing.wire import FakeReranker


@pytest.fixture
def filled(home: Path, store: Path) -> Path:
    with AgentMemory("default") as memory:
        memory.records.add("Staging listens on port 5433")
    return store


def states(found: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["state"] for check in found["checks"]}


def ours(found: dict[str, str]) -> set[str]:
    """All states but those that depend on the machine that runs the tests."""
    return {state for name, state in found.items() if name not in ("disk", "file system", "sqlite", "variable")}


def look(here: Any, *words: str) -> tuple[int, dict[str, str], dict[str, dict[str, str]]]:
    ran = here(*words, "doctor", "--json")
    assert ran.json["ok"] == (ran.code == 0)
    assert ran.code in (0, 1)
    named = {check["name"]: check for check in ran.json["checks"]}
    for check in ran.json["checks"]:
        assert check["detail"]
        assert check["state"] == "ok" or check["fix"], check
    return ran.code, states(ran.json), named


def test_a_machine_without_git_is_told_what_it_lacks(
    here: Any, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, found, named = look(here)
    assert (code, found["git"]) == (0, "warn")
    assert "install it" in named["git"]["fix"]


def test_a_variable_that_is_nearly_right_is_named(here: Any, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_STOER", "sqlite:///elsewhere.db")
    code, found, named = look(here)
    assert (code, found["variable"]) == (0, "warn")
    assert named["variable"]["detail"] == "AGENT_MEMORY_STOER means nothing"
    assert named["variable"]["fix"] == "did you mean AGENT_MEMORY_STORE?"


@pytest.mark.requirement("P10")
def test_a_healthy_store(here: Any, filled: Path) -> None:
    before = {file: file.stat().st_mtime_ns for file in filled.parent.iterdir()}
    code, found, named = look(here)
    assert code == 0
    assert ours(found) == {"ok"}, found
    assert {"python", "sqlite", "git", "settings", "embedder", "store", "disk", "file system", "schema"} < set(found)
    assert {"integrity", "log", "space", "vectors", "permissions", "writable", "telemetry"} < set(found)
    assert " ms a text" in named["embedder"]["detail"]
    assert named["log"]["detail"].startswith("write-ahead")
    assert {file: file.stat().st_mtime_ns for file in filled.parent.iterdir()} == before
    text = here("doctor").out
    assert "ok    store        " in text
    assert "fail" not in text


def test_whose_memory_is_examined_is_what_was_said(here: Any, filled: Path, serving: Any) -> None:
    here("--user", "zed", "--tenant", "acme", "add", "Zed's own")
    whose = ("--user", "zed", "--tenant", "acme", "--agent", "scout")
    assert look(here, *whose)[2]["settings"]["detail"].endswith(", user zed, agent scout")
    for words in ((*whose, "doctor"), ("doctor", *whose)):
        text = here(*words).out
        assert "AGENT_MEMORY_USER = zed (argument)" in text and "AGENT_MEMORY_TENANT = acme (argument)" in text
    with serving() as url:
        assert look(here, *whose, "--store", url)[2]["server"]["detail"].endswith("; 1 record of zed")


def test_a_store_in_use(here: Any, home: Path) -> None:
    with AgentMemory("default") as memory:
        memory.records.add("Staging listens on port 5433")
        code, found, _ = look(here)
        memory.records.add("and is still written to")
    assert (code, ours(found)) == (0, {"ok"})


def test_a_missing_store_is_not_created(here: Any, home: Path) -> None:
    code, found, named = look(here)
    assert (code, found["store"]) == (0, "warn")
    assert "agent-memory add" in named["store"]["fix"]
    assert not home.exists()


def test_a_directory_in_its_place(here: Any, tmp_path: Path) -> None:
    code, found, named = look(here, "--store", f"sqlite:///{tmp_path}")
    assert (code, found["store"]) == (1, "fail")
    assert "is a directory" in named["store"]["detail"]
    text = here("--store", f"sqlite:///{tmp_path}", "doctor")
    assert text.code == 1
    assert "fail  store " in text.out
    assert "→ name a file inside it" in text.out


def test_a_read_only_store(process: Any, filled: Path) -> None:
    filled.chmod(0o400)
    ran = process("doctor", "--json", anybody=True)
    assert (ran.code, states(ran.json)["writable"]) == (1, "fail")
    filled.chmod(0o000)
    ran = process("doctor", "--json", anybody=True)
    assert (ran.code, states(ran.json)["store"]) == (1, "fail")


def test_a_folder_that_nobody_may_write(process: Any, filled: Path, home: Path) -> None:
    home.chmod(0o500)
    try:
        ran = process("doctor", "--json", anybody=True)
        assert (ran.code, states(ran.json)["writable"]) == (1, "fail")
        missing = process("--store", f"sqlite:///{home}/deep/other.db", "doctor", "--json", anybody=True)
        assert (missing.code, states(missing.json)["store"]) == (1, "fail")
    finally:
        home.chmod(0o700)


def test_a_newer_schema(here: Any, filled: Path) -> None:
    with closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute("pragma user_version = 999")
    code, found, named = look(here)
    assert (code, found["schema"]) == (1, "fail")
    assert "999" in named["schema"]["detail"]
    assert "upgrade agent-memory" in named["schema"]["fix"]


def test_a_world_readable_file_is_a_warning(here: Any, filled: Path) -> None:
    filled.chmod(0o644)
    code, found, named = look(here)
    assert (code, found["permissions"]) == (0, "warn")
    assert named["permissions"]["fix"] == f"chmod 600 {filled}"


def test_files_that_are_not_ours(here: Any, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("no database at all\n" * 500)
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as connection, connection:
        connection.execute("create table theirs (x)")
    for path in (notes, foreign):
        before = path.read_bytes()
        code, found, named = look(here, "--store", f"sqlite:///{path}")
        assert (code, found["database"]) == (1, "fail")
        assert "chmod" not in str(named)
        assert path.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign.db", "notes.txt"]


def test_a_damaged_store(here: Any, filled: Path) -> None:
    data = bytearray(filled.read_bytes())
    data[8192:16384] = os.urandom(8192)
    filled.write_bytes(bytes(data))
    code, found, named = look(here)
    assert code == 1
    assert "fail" in (found.get("integrity"), found.get("database"))
    assert not any("\n" in check["detail"] for check in named.values())


def test_another_embedder_and_vectors_that_wait(here: Any, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with AgentMemory("default") as memory:
        memory.records.add_many([{"text": "later"}, {"text": "later still"}])
    code, found, named = look(here)
    assert (code, found["vectors"]) == (0, "warn")
    assert named["vectors"]["detail"] == "2 texts still without one"
    monkeypatch.setenv("AGENT_MEMORY_EMBEDDING_PROVIDER", "ollama")
    monkeypatch.setenv("AGENT_MEMORY_EMBEDDING_URL", "http://127.0.0.1:9")
    code, found, _ = look(here)
    assert (code, found["embedder"], found["space"]) == (1, "fail", "fail")


def test_a_reranker_where_one_is_configured(here: Any, filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "reranker" not in look(here)[1]
    with FakeReranker() as service:
        monkeypatch.setenv("AGENT_MEMORY_RERANK_URL", service.url)
        assert look(here)[1]["reranker"] == "ok"
    code, found, named = look(here)
    assert (code, found["reranker"]) == (0, "warn") and "fused order" in named["reranker"]["fix"]


def test_settings_that_cannot_be_read(here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_DEFAULT_TOP_K", "many")
    code, found, named = look(here)
    assert (code, found["settings"]) == (1, "fail")
    assert "DEFAULT_TOP_K" in named["settings"]["detail"].upper()


@pytest.mark.parametrize("url", ["~nosuch/x.db", "sqlite://", "sqlite:///"])
def test_a_store_that_is_no_url(url: str) -> None:
    assert CheckState.FAIL in [check.state for check in examine(url) if check.name == "store"]


@pytest.mark.parametrize(
    ("kind", "state"),
    [("ext4", "ok"), ("nfs4", "warn"), ("cifs", "warn"), ("9p", "warn"), ("fuse.sshfs", "warn"), ("fuse.lxcfs", "ok")],
)
def test_network_file_systems_are_a_warning(tmp_path: Path, kind: str, state: str) -> None:
    point = tmp_path / "a share"
    (point / "deep").mkdir(parents=True)
    mounts = tmp_path / "mounts"
    escaped = str(point).replace(" ", "\\040")
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {escaped} {kind} rw 0 0\nbroken line\n")
    assert check_file_system(point / "deep" / "memory.db", mounts).state == state
    assert file_system(tmp_path / "memory.db", mounts) == "ext4"
    assert check_file_system(point, tmp_path / "nosuch").state == "ok"


def test_free_space_is_asked_of_the_nearest_folder(tmp_path: Path) -> None:
    assert check_free_space(tmp_path / "not" / "yet" / "there.db").detail.endswith(" free")


@pytest.mark.parametrize(
    ("version", "has"),
    [
        ("3.6.23", False),
        ("3.7.0", True),
        ("3.40.1", True),
        ("3.44.5", True),
        ("3.44.6", False),
        ("3.45.0", True),
        ("3.50.6", True),
        ("3.50.7", False),
        ("3.51.0", True),
        ("3.51.2", True),
        ("3.51.3", False),
        ("3.52.0", False),
        ("4.0.0", False),
    ],
)
def test_versions_of_sqlite_with_the_reset_bug(version: str, has: bool) -> None:
    assert has_reset_bug(tuple(map(int, version.split(".")))) == has


def test_the_sqlite_that_runs_is_judged(here: Any, filled: Path) -> None:
    _, found, named = look(here)
    assert found["sqlite"] == ("warn" if has_reset_bug(sqlite3.sqlite_version_info) else "ok")
    assert named["sqlite"]["detail"].startswith(sqlite3.sqlite_version)


def test_a_last_line_in_the_future(here: Any, filled: Path, clock: Any) -> None:
    assert look(here)[1]["clock"] == "ok"
    clock.moment = datetime(2136, 1, 2, 3, 4, tzinfo=UTC)
    with AgentMemory("default", clock=clock) as memory:
        memory.records.add("written while the clock was ahead")
    code, found, named = look(here)
    assert (code, found["clock"]) == (0, "warn")
    assert "2136-01-02 03:04" in named["clock"]["detail"]


@pytest.mark.parametrize("at", [b"\xff", "tomorrow", 1 << 62, -(1 << 62)])
def test_a_last_line_whose_time_is_damaged(here: Any, filled: Path, at: Any) -> None:
    with closing(sqlite3.connect(filled)) as connection, connection:
        connection.execute("update journal set at = ?", (at,))
    assert "clock" in look(here)[1]


def test_what_was_forgotten_and_may_be_on_the_disk(
    here: Any, store: Path, serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a write after the reader has gone pays the debt; of a server its own word is taken."""
    monkeypatch.setattr(scrub, "PATIENCE_SECONDS", 0.1)
    here("add", "a secret", "--id", "secret")
    _, found, _ = look(here)
    assert found["erasures"] == "ok"
    with closing(sqlite3.connect(store, isolation_level=None)) as reader:
        reader.execute("begin")
        reader.execute("select count(*) from versions").fetchone()
        assert here("forget", "secret", "--yes", "--json").json["scrubbed"] is False
        code, found, named = look(here)
        assert (code, found["erasures"]) == (0, "warn")
        assert "may still be in the file" in named["erasures"]["detail"]
        assert "next write" in named["erasures"]["fix"] and "upkeep run-jobs" in named["erasures"]["fix"]
        with serving() as url:
            assert look(here, "--store", url)[1]["erasures"] == "warn"
    here("add", "a later write")
    assert look(here)[1]["erasures"] == "ok"
