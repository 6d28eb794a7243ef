"""What is wrong on the command line is one line, a status, and no change."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent_memory.interfaces.cli import exits
from agent_memory.models.errors import AgentMemoryError

PORT = "Staging listens on port 5433"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["add", "x", "--kind", "nosuch"], 3, "there is no kind 'nosuch'"),
        (["add", "x", "--importance", "nan"], 2, "importance"),
        (["add", "x", "--importance", "7"], 2, "should be at most 1"),
        (["add", "x", "--importance", "much"], 2, "not a valid float"),
        (["add", "x", "--valid-from", "someday"], 2, "'someday' is not a moment"),
        (["add", "x", "--valid-from", "999999 weeks ago"], 2, "is not a moment"),
        (["add", "x", "--status", "odd"], 2, "odd"),
        (["add", "x", "--payload", "{"], 2, "is not JSON"),
        (["add", "x", "--payload", "[" * 100_000], 2, "is not JSON"),
        (["add", "x", "--payload", "[1]"], 2, "payload"),
        (["add", ""], 2, "TEXT: is empty"),
        (["add", "a\udcffb"], 2, "lone surrogate"),
        (["add", "x", "--nosuch", "1"], 2, "there is no option --nosuch"),
        (["add", "x", "--kind", "fact", "--subject", "y"], 2, "agent-memory learn CLAIM --subject"),
        (["recall", "x", "--repositroy", "y"], 2, "did you mean --repository or --near-repository?"),
        (["rules", "propose", "--text", "x"], 2, "type `agent-memory rules propose RULE`"),
        (["forget", "@last", "--kind", "plan", "--yes"], 2, "--kind cannot be combined with ids"),
        (["forget", "--yes"], 2, "nothing to forget was named"),
        (["show", "01m"], 3, "an id can be cut to its first 4 characters, and no shorter"),
        (["list", "--repository", "x", "--bogus"], 2, "there is no option --bogus"),
        (["list", "--limit", "0"], 2, "limit: should be 1 or more"),
        (["recall"], 2, "QUERY"),
        (["recall", "x", "--as-of", "2026-13-45"], 2, "is not a moment"),
        (["show", "nosuch"], 3, "no record 'nosuch'"),
        (["history", "nosuch"], 3, "no record 'nosuch'"),
        (["forget", "nosuch", "--yes"], 3, "nosuch"),
        (["goals", "add", '{"priority": 9}'], 2, "description"),
        (["nosuch"], 2, "there is no command 'nosuch'"),
        (["recal"], 2, "did you mean 'recall'?"),
        (["semantic", "nosuch"], 2, "nosuch"),
        (["episodic", "get-recent-turns", "--user-id", "bob"], 5, "not visible here"),
        (["--user", " ", "list"], 2, "is empty"),
        (["recall", "x", "--kind"], 2, "`agent-memory recall --help` shows how"),
        (["rules", "check", "--command"], 2, "`agent-memory rules check --help` shows how"),
        (["--user"], 2, "`agent-memory --help` shows how"),
        (["--store", "No Such://x", "list"], 2, "neither a URL nor a path"),
        (["--store", "127.0.0.1:8005", "list"], 2, "is it a server? http://127.0.0.1:8005"),
        (["--store", "[::1]:8005", "list"], 2, "is it a server? http://[::1]:8005"),
        (["--store", "memory.example:8005", "add", "x"], 2, "is it a server?"),
        (["--store", "http://127.0.0.1:8005", "mcp"], 2, "connect an agent to http://127.0.0.1:8005/mcp"),
        (["--store", "http://127.0.0.1:8005", "serve"], 2, "needs a store on this machine"),
        (["--store", "~nosuch/x.db", "list"], 2, "does not name a file"),
        (["--store", "nosuch://x", "list"], 7, "no engine"),
        (["--store", "sqlite:////", "list"], 6, "directory"),
        (["--store", "sqlite:////proc/nosuch/x.db", "add", "x"], 6, "cannot be created"),
        (["demo", "--keep", "/"], 2, "exists already"),
    ],
)
def test_bad_input_is_one_line_and_a_status(here: Any, remembered: str, words: list[str], code: int, said: str) -> None:
    ran = here(*words)
    assert (ran.code, ran.out) == (code, "")
    first, *hints = ran.err.splitlines()
    assert first.startswith("error: ")
    assert said in ran.err
    assert all(hint.startswith("hint: ") for hint in hints)
    assert len(hints) <= 1
    ran = here("--json", *words)
    assert (ran.code, ran.out) == (code, "")
    assert set(json.loads(ran.err)["error"]) <= {"code", "message", "hint", "field"}


def test_a_conflict_has_its_own_status(here: Any) -> None:
    assert here("add", "one", "--idempotency-key", "k").code == 0
    assert here("add", "one", "--idempotency-key", "k").code == 0
    assert here("add", "two", "--idempotency-key", "k").code == 4
    assert len(here("list", "--json").json) == 1


def test_stores_that_cannot_be_used(process: Any, here: Any, remembered: str, store: Path, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("these are notes, and no database at all\n" * 200)
    ran = process("--store", f"sqlite:///{other}", "list")
    assert (ran.code, "no SQLite database" in ran.err, "Traceback" in ran.err) == (6, True, False)
    assert other.read_text().startswith("these are notes")
    assert here("--store", f"sqlite:///{tmp_path}", "list").code == 6
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("pragma user_version = 999")
    newer = here("list")
    assert (newer.code, "schema version 999" in newer.err) == (6, True)


def test_a_read_only_store_says_so(process: Any, here: Any, remembered: str, store: Path) -> None:
    store.chmod(0o400)
    store.parent.chmod(0o500)
    try:
        ran = process("add", "more", anybody=True)
    finally:
        store.parent.chmod(0o700)
    assert (ran.code, "Traceback" in ran.err) == (6, False)
    assert ran.err.startswith("error: the store")


def test_another_embedder_has_its_own_status(here: Any, remembered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_EMBEDDING_PROVIDER", "ollama")
    ran = here("add", "more")
    assert (ran.code, "rebuild --vectors" in ran.err) == (7, True)


def test_every_error_has_a_status_and_every_status_a_meaning() -> None:
    def tree(kind: type[AgentMemoryError]) -> list[type[AgentMemoryError]]:
        return [kind, *(one for child in kind.__subclasses__() for one in tree(child))]

    codes = {kind.code for kind in tree(AgentMemoryError) if kind.__module__.startswith("agent_memory.")}
    assert codes - {"error"} <= set(exits.STATUS)
    assert set(exits.STATUS.values()) <= set(exits.MEANING)


def test_a_bug_is_a_line_and_a_traceback_only_on_request(process: Any, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def open_store(url):\n    return 1 / 0\n")
    package = tmp_path / "broken-1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (package / "entry_points.txt").write_text("[agent_memory.stores]\nbroken = broken:open_store\n")
    ran = process("--store", "broken://x", "list", PYTHONPATH=str(tmp_path))
    assert ran.code == 70
    assert ran.err.startswith("error: ZeroDivisionError: division by zero\nhint: ")
    assert "AGENT_MEMORY_DEBUG=1" in ran.err
    ran = process("--store", "broken://x", "list", PYTHONPATH=str(tmp_path), AGENT_MEMORY_DEBUG="1")
    assert (ran.code, "Traceback" in ran.err) == (70, True)


def test_a_dotenv_file_may_begin_with_a_mark(here: Any, tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config/.env").write_text("AGENT_MEMORY_USER=ada\n", "utf-8-sig")
    assert here("add", "x", "--id", "x").code == 0
    assert here("show", "x", "--json").json["scope"]["user"] == "ada"


def test_a_wrong_option_is_never_answered_with_one_that_help_hides(here: Any) -> None:
    assert "--tenant" not in here("rules", "propose", "--text", "no pushes on fridays").err


def test_a_memory_file_that_cannot_be_read_is_named_with_the_option(here: Any, tmp_path: Path) -> None:
    file = tmp_path / "memory.jsonl"
    file.write_text("not json\n")
    ran = here("import-mcp", str(file))
    assert (ran.code, f"error: {file}: line 1: not JSON" in ran.err, "--skip-bad" in ran.err) == (2, True, True)
    assert "skip_bad" not in ran.err and "text:" not in ran.err


def test_one_is_one_and_two_are_two(here: Any, tmp_path: Path) -> None:
    here("add", "The only one")
    assert here("export", str(tmp_path / "one")).out.startswith("wrote 1 record to ")
    assert here("import", str(tmp_path / "one")).out.startswith("read 1 line: ")
    assert here("forget", "--kind", "observation", "--dry-run").out.startswith("1 would be forgotten: 1 observation;")
    here("add", "Another one")
    assert "2 observations" in here("forget", "--kind", "observation", "--yes").out
    lines = [{"type": "entity", "name": "Ada", "entityType": "person", "observations": ["engineer"]}]
    (tmp_path / "graph").write_text("\n".join(map(json.dumps, lines)))
    assert here("import-mcp", str(tmp_path / "graph")).out.startswith("took over 1 entity, 1 observation, 0 relations;")
