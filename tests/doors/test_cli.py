"""The command line, as somebody types it."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest

import agent_memory
from agent_memory import AgentMemory
from agent_memory.app.operations import TABLE, Operation, Permission
from agent_memory.interfaces.cli import commands, exits, options, reference
from agent_memory.interfaces.cli.cleaning import clean, clean_json, one_line
from agent_memory.interfaces.cli.moments import parse
from agent_memory.interfaces.cli.root import OWN
from agent_memory.models.answer import Recalled
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.kinds.work import Goal
from agent_memory.models.record import Status

PORT = "Staging listens on port 5433"
EVIL = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \u202etxt [bold]not bold[/bold] :smile:"


@pytest.fixture
def remembered(here: Any) -> str:
    assert here("add", PORT, "--id", "port").code == 0
    return "port"


# -- the everyday commands, as text and as JSON


@pytest.mark.requirement("P10", "P15")
def test_add_says_what_it_wrote(here: Any) -> None:
    text = here("add", PORT, "--id", "port")
    assert (text.code, text.out, text.err) == (0, "created port (version 1)\n", "")
    again = here("add", PORT + ", since May", "--id", "port", "--json").json
    assert (again["id"], again["effect"], again["version"]) == ("port", "updated", 2)


@pytest.mark.requirement("P10", "P15")
def test_recall_finds_it_and_says_why(here: Any, remembered: str) -> None:
    here("add", "The coffee machine is on the second floor")
    plain = here("recall", "which port is staging on?", "--k", "1")
    header, row = (line.split("\t") for line in plain.out.splitlines())
    assert header == ["score", "relevance", "kind", "when", "id", "text"]
    assert (row[2], row[4], row[5]) == ("observation", "port", PORT)
    why = here("recall", "which port is staging on?", "--k", "1", "--why").out
    assert re.search(r"\tvectors 0\.\d\d \+ words 0\.\d\d \+ ", why)
    assert "words: port, staging" in why
    assert "similarity 0." in why
    found = here("recall", "which port is staging on?", "--k", "1", "--json").json
    assert found["hits"][0]["record"]["text"] == PORT
    assert set(found["hits"][0]["why"]) == {"channels", "words", "dates", "entities", "similarity", "exact_key"}
    assert datetime.fromisoformat(found["hits"][0]["record"]["recorded_at"]).tzinfo


def test_why_tells_the_period_that_a_date_in_the_question_means(here: Any, terminal: Any) -> None:
    here("add", PORT, "--id", "port", "--valid-from", "2026-02-20T10:00:00+00:00")
    why = here("recall", "what was said on 20 February 2026?", "--why").out
    assert "dates: 20 February 2026 (2026-02-20 00:00 to 2026-02-21 00:00 UTC)" in why and "date 0.40" in why
    assert "meaning was compared in all-MiniLM-L6-v2@" in terminal("recall", "port", "--why").out
    assert "dates:" not in here("recall", "what was said?", "--why").out


def test_replay_says_whether_it_is_the_same_and_what_is_not(here: Any, remembered: str) -> None:
    receipt = here("recall", "staging port", "--json").json["receipt_id"]
    here("edit", "port", "--text", "Staging listens on port 5434")
    here("add", "Another port of staging", "--id", "other")
    same = here("replay", receipt).out.splitlines()
    assert same[0] == "identical: the same records, versions, order and scores" and same[2].endswith(PORT)
    today = here("replay", receipt, "--now").out.splitlines()
    assert today[0] == "not identical" and today[1] == "before\tafter\tid"
    moved = {line.split("\t")[2]: line.split("\t")[:2] for line in today[2:]}
    assert "version 1" in moved["port"][0] and "version 2" in moved["port"][1] and moved["other"][0] == "–"
    assert here("replay", receipt, "--json").json["identical"] is True
    here("add", "gone soon", "--id", "gone")
    here("forget", "gone", "--yes")
    assert "1 records were forgotten since" in here("replay", receipt, "--now").out


def test_show_and_list(here: Any, remembered: str) -> None:
    card = here("show", "port").out
    assert "kind: observation" in card
    assert card.endswith(f"\n\n{PORT}\n")
    assert here("show", "port", "--json").json["text"] == PORT
    header, row = (line.split("\t") for line in here("list", "--kind", "observation").out.splitlines())
    assert header == ["id", "kind", "valid from", "version", "status", "text"]
    assert (row[0], row[3], row[4], row[5]) == ("port", "1", "active", PORT)
    assert [one["id"] for one in here("list", "--json").json] == ["port"]
    assert here("list", "--kind", "fact").out == ""
    assert here("list", "--kind", "fact", "--json").json == []


def test_history_shows_every_version(here: Any, remembered: str) -> None:
    here("add", "Staging listens on port 6543", "--id", "port")
    lines = here("history", "port").out.splitlines()
    assert lines[0].split("\t") == ["version", "valid", "recorded", "status", "text"]
    assert [line.split("\t")[-1] for line in lines[1:]] == [PORT, "Staging listens on port 6543"]
    assert [one["version"] for one in here("history", "port", "--json").json] == [1, 2]


def test_forget_is_for_ever(here: Any, remembered: str, store: Path) -> None:
    refused = here("forget", "port")
    assert refused.code == 2
    assert "--yes" in refused.err
    assert here("show", "port").code == 0
    assert here("forget", "port", "--yes").out == "forgotten: port\n"
    assert here("show", "port").code == 3
    assert PORT.encode() not in store.read_bytes()
    here("add", PORT, "--id", "other")
    assert here("forget", "other", "--yes", "--json").json["ids"] == ["other"]


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, []), ("n\n", 130, ["port"])])
def test_forget_asks_at_a_terminal(
    terminal: Any, here: Any, remembered: str, typed: str, code: int, left: list[str]
) -> None:
    ran = terminal("forget", "port", typed=typed)
    assert ran.code == code
    assert PORT in ran.out
    assert [one["id"] for one in here("list", "--json").json] == left


def test_stats_verify_and_rebuild(here: Any, remembered: str) -> None:
    assert "records: 1\n" in here("stats").out
    assert here("stats", "--json").json["kinds"] == {"observation": 1}
    assert here("verify").out.startswith("ok: ")
    proof = here("--json", "verify").json
    assert (proof["ok"], proof["problems"]) == (True, [])
    assert "contents: 1\n" in here("rebuild").out
    assert here("rebuild", "--json").json["pending_vectors"] == 0


def test_verify_lists_problems_and_exits_with_1(here: Any, remembered: str, store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("update contents set text = 'Staging listens on port 1'")
    found = here("verify")
    assert found.code == 1
    assert "problem: journal: line" in found.out
    found = here("verify", "--json")
    assert (found.code, found.json["ok"]) == (1, False)


def test_preferences_goals_and_the_rest(here: Any) -> None:
    here("prefer", "git", "merge style", "rebase")
    here("prefer", "git", "signed", "true")
    assert [one["value"] for one in here("preferences", "--json").json] == ["rebase", True]
    assert "- **merge style**: rebase" in here("user", "to-markdown").out
    goal = here("goals", "add", json.dumps({"description": "Ship it", "priority": 5}), "--json").json
    assert "Ship it" in here("goals", "active").out
    assert here("goals", "update", goal["id"], "--status", "completed", "--json").json["status"] == "completed"
    called = here("procedural", "record-invocation", "kubectl", "{}", "fine", "--no-success", "--latency-ms", "7")
    assert called.code == 0
    assert here("procedural", "get-tool-stats", "--json").json[0]["success_rate"] == 0.0
    learned = here("procedural", "learn-strategy", "restart it", "when stuck", "stop", "start", "--json").json
    assert learned["tool_sequence"] == ["stop", "start"]
    assert "rebase" in here("whoami").out
    assert "## Active Goals" not in here("remember", "shipping").out


@pytest.mark.requirement("C5", "P15")
def test_a_working_set_outlives_a_command(here: Any) -> None:
    assert here("--conversation", "c1", "working", "set", "step", "2").code == 0
    assert here("--conversation", "c1", "working", "get", "step").out == "2\n"
    assert here("--conversation", "c2", "working", "get", "step", "--json").json is None


def test_users_tenants_and_stores_are_walls(here: Any, remembered: str, tmp_path: Path) -> None:
    for words in (["--user", "bob"], ["--tenant", "other"], ["--store", f"sqlite:///{tmp_path}/other.db"]):
        assert here(*words, "list", "--json").json == []
    assert here("--agent", "builder", "add", "mine", "--id", "mine").code == 0
    assert len(here("--agent", "builder", "list", "--json").json) == 2
    assert len(here("list", "--json").json) == 1


def test_settings_are_defaults(here: Any, remembered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_USER", "bob")
    assert here("list", "--json").json == []
    assert len(here("--user", "default", "list", "--json").json) == 1


# -- the table


@pytest.mark.parametrize("name", TABLE)
def test_every_operation_is_a_command_and_is_documented(here: Any, name: str) -> None:
    namespace, _, method = name.replace("_", "-").rpartition(".")
    words = [namespace, method] if namespace else [method]
    ran = here(*words, "--help")
    assert ran.code == 0
    assert " ".join(TABLE[name].summary.split()[:4]) in " ".join(ran.out.split())
    page = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text("utf-8")
    assert f"### agent-memory {' '.join(words)}\n" in page
    short = TABLE[name].command
    assert short is None or (f"### agent-memory {short}\n" in page and here(short, "--help").code == 0)


def test_the_reference_is_what_the_generator_writes() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"
    fresh = "python -m agent_memory.interfaces.cli.reference > docs/reference/cli.md"
    assert page.read_text("utf-8") == reference.page(), f"run `{fresh}`"


def test_every_short_command_has_an_example_and_they_run(here: Any) -> None:
    assert set(reference.EXAMPLES) == {*commands.top(), *OWN}
    middle = sorted(set(reference.EXAMPLES) - {"add", "forget", "demo", "guard", "import-mcp", "mcp", "serve"})
    for name in ["add", *middle, "forget"]:
        example = reference.EXAMPLES[name]
        if "RECEIPT" in example:
            asked = json.loads(here("recall", "staging", "--json").out)
            example = example.replace("RECEIPT", asked["receipt_id"])
        words = shlex.split(example)
        assert words[0] == name
        ran = here(*words)
        assert (ran.code, ran.err) == (0, ""), ran


def test_commands_and_namespaces_do_not_collide() -> None:
    names = [*commands.top(), *OWN, *commands.namespaces()]
    assert len(names) == len(set(names))


def test_help_of_the_whole_lists_everything(here: Any) -> None:
    out = here("--help").out
    for name in (*commands.top(), *OWN, *commands.namespaces()):
        assert f"\n  {name} " in out
    assert here().out == out
    assert "get-entity-graph" in here("semantic").out


def test_options_come_from_types() -> None:
    def made_up(
        self: object,
        text: str,
        ids: list[str],
        goal: Goal,
        count: int,
        sure: bool,
        maybe: str | None,
        more: list[str],
        when: datetime | None = None,
        state: Status = Status.ACTIVE,
        numbers: list[int] | None = None,
        loud: bool = True,
        anything: Any = None,
    ) -> Recalled:
        """Do something new. And more."""
        raise NotImplementedError

    made = Operation("records.made_up", made_up, "GET /made-up", Permission.READ, None)
    command = commands.command("made-up", made)
    kinds = {param.name: type(param).__name__ for param in command.params}
    assert [name for name, kind in kinds.items() if kind == "Argument"] == ["text", "ids", "goal"]
    assert {"_json", "_why"} < set(kinds)
    words = ["hello", "a", "b", '{"description": "x"}', "--count", "3", "--no-sure", "--more", "p", "--more", "q"]
    words += [
        "--when",
        "2026-03-01T10:00:00Z",
        "--state",
        "held",
        "--numbers",
        "1",
        "--numbers",
        "2",
        "--anything",
        "[1]",
    ]
    context = command.make_context("made-up", words)
    assert options.arguments(context, made.signature) == {
        "text": "hello",
        "ids": ["a", "b"],
        "goal": {"description": "x"},
        "count": 3,
        "sure": False,
        "maybe": None,
        "more": ["p", "q"],
        "when": datetime(2026, 3, 1, 10, tzinfo=UTC),
        "state": "held",
        "numbers": [1, 2],
        "anything": [1],
    }
    with pytest.raises(click.MissingParameter):
        command.make_context("made-up", ["hello", "a", "{}", "--no-sure", "--more", "p"])  # no --count
    unsaid = command.make_context("made-up", ["hello", "a", "{}", "--count", "3", "--more", "p"])
    with pytest.raises(click.MissingParameter):
        options.arguments(unsaid, made.signature)
    assert inspect.cleandoc(command.help or "").startswith("Do something new.")


# -- bad input


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["add", "x", "--kind", "nosuch"], 3, "there is no kind 'nosuch'"),
        (["add", "x", "--importance", "nan"], 2, "importance"),
        (["add", "x", "--importance", "7"], 2, "outside 0 to 1"),
        (["add", "x", "--importance", "much"], 2, "not a valid float"),
        (["add", "x", "--valid-from", "someday"], 2, "'someday' is no moment"),
        (["add", "x", "--valid-from", "999999 weeks ago"], 2, "is no moment"),
        (["add", "x", "--status", "odd"], 2, "odd"),
        (["add", "x", "--payload", "{"], 2, "is no JSON"),
        (["add", "x", "--payload", "[" * 100_000], 2, "is no JSON"),
        (["add", "x", "--payload", "[1]"], 2, "payload"),
        (["add", ""], 2, "text: is empty"),
        (["add", "a\udcffb"], 2, "lone surrogate"),
        (["add", "x", "--nosuch", "1"], 2, "--nosuch"),
        (["list", "--limit", "0"], 2, "limit: 0"),
        (["recall"], 2, "QUERY"),
        (["recall", "x", "--as-of", "2026-13-45"], 2, "is no moment"),
        (["show", "nosuch"], 3, "no record 'nosuch'"),
        (["history", "nosuch"], 3, "no record 'nosuch'"),
        (["forget", "nosuch", "--yes"], 3, "nosuch"),
        (["goals", "add", '{"priority": 9}'], 2, "description"),
        (["nosuch"], 2, "there is no command 'nosuch'"),
        (["recal"], 2, "did you mean 'recall'?"),
        (["semantic", "nosuch"], 2, "nosuch"),
        (["episodic", "get-recent-turns", "--user-id", "bob"], 5, "not yours to read"),
        (["--user", " ", "list"], 2, "is empty"),
        (["--store", "No Such://x", "list"], 2, "neither a URL nor a path"),
        (["--store", "~nosuch/x.db", "list"], 2, "names no file"),
        (["--store", "nosuch://x", "list"], 7, "no engine"),
        (["--store", "sqlite:////", "list"], 6, "directory"),
        (["--store", "sqlite:////proc/nosuch/x.db", "add", "x"], 6, "cannot be created"),
        (["demo", "--keep", "/"], 2, "exists already"),
    ],
)
def test_bad_input_is_one_line_and_a_status(here: Any, words: list[str], code: int, said: str) -> None:
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


# -- pipes, terminals and foreign text


def test_text_comes_from_a_pipe(process: Any, here: Any) -> None:
    assert process("add", "--id", "a", input="from a pipe\nwith two lines\n").code == 0
    assert process("add", "-", "--id", "b", input="déjà vu\n").code == 0
    assert {one["id"]: one["text"] for one in here("list", "--json").json} == {
        "a": "from a pipe\nwith two lines",
        "b": "déjà vu",
    }
    assert process("add").code == 2
    ran = process("add", input=b"\xff\xfe")
    assert (ran.code, "no UTF-8" in ran.err) == (2, True)
    many = json.dumps([{"text": "one"}, {"text": "two", "kind": "decision"}])
    assert process("records", "add-many", "-", input=many).out.count("created") == 2


def test_a_reader_that_leaves_is_no_error(home: Path, process: Any) -> None:
    with AgentMemory("default") as memory:
        memory.records.add_many([{"text": f"line {number} " + "x" * 20_000} for number in range(500)])
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", "list", "--limit", "5000"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline().startswith(b"id\t")
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(60) == 141


def test_foreign_text_cannot_drive_the_terminal(terminal: Any, here: Any) -> None:
    with AgentMemory("default") as memory:
        memory.records.add(EVIL, id="evil")
    for words in (
        ["list"],
        ["show", "evil"],
        ["history", "evil"],
        ["recall", "red title", "--why"],
        ["show", "evil", "--json"],
    ):
        plain, screen = here(*words).out, terminal(*words, NO_COLOR="1").out
        for out in (plain, screen):
            assert "\x1b]" not in out
            assert "\x1b[31mred" not in out
            assert "\x9b" not in out
            assert "\u202e" not in out
            assert "[bold]not bold[/bold] :smile:" in " ".join(out.split())
        assert "\x1b" not in plain
    assert "\\x1b[31mred" in here("show", "evil").out
    assert here("show", "evil", "--json").json["text"] == EVIL


def test_a_terminal_gets_colour_and_tables_unless_no_color(terminal: Any, here: Any, remembered: str) -> None:
    coloured = terminal("recall", "which port?", "--why").out
    assert "\x1b[3" in coloured
    assert "1 of 1 memories" in coloured
    assert "\t" not in coloured
    plain = terminal("recall", "which port?", NO_COLOR="1").out
    assert PORT in plain
    assert "\x1b[3" not in plain
    assert "nothing" in terminal("list", "--kind", "fact").out


def test_an_output_without_unicode_still_works(process: Any, here: Any) -> None:
    here("add", "naïve → 雪", "--id", "snow")
    assert "na\\xefve" in process("show", "snow", PYTHONIOENCODING="ascii").out
    assert process("show", "snow", "--json", PYTHONIOENCODING="ascii").json["text"] == "naïve → 雪"


def test_ctrl_c_is_quiet_and_cleans_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", "demo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        while not list(scratch.glob("agent-memory-demo-*/demo.db")):
            assert child.poll() is None
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err.strip()) == (130, b"", b"")
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("text", [EVIL, "a\r\nb\tc", "\u2028"])
def test_cleaning_changes_only_what_is_unsafe(text: str) -> None:
    assert clean("plain: é 雪 \n\t[x]") == "plain: é 雪 \n\t[x]"
    assert not any(mark in clean(text) for mark in "\x1b\x07\x9b\r\u202e\u2028")
    assert "\n" not in one_line(text)
    assert json.loads(clean_json(json.dumps(text, ensure_ascii=False))) == text


# -- moments


NOW = datetime(2026, 3, 10, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", NOW),
        ("today", NOW.replace(hour=0, minute=0)),
        ("Yesterday", NOW - timedelta(days=1)),
        ("last week", NOW - timedelta(days=7)),
        ("2 days ago", NOW - timedelta(days=2)),
        ("  90   minutes ago", NOW - timedelta(minutes=90)),
        ("an hour ago", NOW - timedelta(hours=1)),
        ("3h ago", NOW - timedelta(hours=3)),
        ("in 2 weeks", NOW + timedelta(weeks=2)),
        ("2d", NOW - timedelta(days=2)),
        ("3h", NOW - timedelta(hours=3)),
        ("a week ago", NOW - timedelta(weeks=1)),
        ("1 month ago", NOW.replace(month=2)),
        ("a month ago", NOW.replace(month=2)),
        ("3 months ago", NOW.replace(year=2025, month=12)),
        ("in 10 months", NOW.replace(year=2027, month=1)),
        ("1 year ago", NOW.replace(year=2025)),
        ("2mo", NOW.replace(month=1)),
        ("last month", NOW.replace(month=2)),
        ("noon", NOW.replace(hour=12, minute=0)),
        ("midnight", NOW.replace(hour=0, minute=0)),
        ("last monday", datetime(2026, 3, 9, tzinfo=UTC)),
        ("Last Tuesday", datetime(2026, 3, 3, tzinfo=UTC)),  # today is one
        ("last wed", datetime(2026, 3, 4, tzinfo=UTC)),
        ("next sunday", datetime(2026, 3, 15, tzinfo=UTC)),
        ("next tuesday", datetime(2026, 3, 17, tzinfo=UTC)),
        ("2026-03-01T10:00:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ("2026-03-01T10:00Z", datetime(2026, 3, 1, 10, tzinfo=UTC)),
    ],
)
def test_moments_as_people_type_them(text: str, moment: datetime) -> None:
    assert parse(text, NOW) == moment


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2 days", "in 2 days ago", "ago", "2026", "-1 days ago", "2 fortnights ago"),
        *("2026-13", "2x", "d", "last someday", "monday noon", "99999 years ago", "in 99999 months"),
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse(text, NOW)


def test_the_end_of_a_month_is_kept_inside_it() -> None:
    assert parse("1 month ago", datetime(2026, 3, 31, 8, tzinfo=UTC)) == datetime(2026, 2, 28, 8, tzinfo=UTC)
    assert parse("1 year ago", datetime(2028, 2, 29, 8, tzinfo=UTC)) == datetime(2027, 2, 28, 8, tzinfo=UTC)


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_named_days_and_months_are_local_whatever_the_season(berlin: None) -> None:
    now = datetime(2026, 4, 1, 12).astimezone()  # summer time began three days before
    assert parse("1 month ago", now).isoformat() == "2026-03-01T12:00:00+01:00"
    assert parse("last friday", now).isoformat() == "2026-03-27T00:00:00+01:00"
    assert parse("last monday", now).isoformat() == "2026-03-30T00:00:00+02:00"
    assert parse("2026-01", now).isoformat() == "2026-01-01T00:00:00+01:00"
    assert parse("noon", now).isoformat() == "2026-04-01T12:00:00+02:00"


def test_a_moment_without_a_zone_is_local(process: Any) -> None:
    process("add", "x", "--id", "x", "--valid-from", "2026-03-01T10:00", TZ="JST-9")
    assert process("show", "x", "--json").json["valid_from"] == "2026-03-01T01:00:00Z"
    assert process("list", "--before", "2026-03-01", "--json", TZ="JST-9").json == []


@pytest.mark.requirement("P7")
def test_asking_as_of_a_moment(here: Any) -> None:
    claim = '{"claim": "%s", "source": "user_stated", "subject": "staging", "predicate": "port", "created_at": "%s"}'
    here("semantic", "store-fact", claim % ("port 1", "2026-01-01T00:00:00Z"))
    here("semantic", "store-fact", claim % ("port 2", "2026-02-01T00:00:00Z"))
    assert [hit["record"]["text"] for hit in here("recall", "port", "--json").json["hits"]] == ["port 2"]
    then = here("recall", "port", "--valid-at", "2026-01-15", "--json").json["hits"]
    assert [hit["record"]["text"] for hit in then] == ["port 1"]
    assert here("recall", "port", "--as-of", "2 days ago", "--json").json["hits"] == []


# -- starting up

LIGHT = """
import sys
from agent_memory.interfaces.cli import main
assert main({words}) == 0
heavy = {heavy} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["--version"], {"rich", "pydantic", "numpy", "onnxruntime", "sqlite3", "asyncio"}),
        (["--help"], {"rich", "numpy", "onnxruntime", "sqlite3", "asyncio"}),
        (["list"], {"rich", "numpy", "onnxruntime", "asyncio"}),
    ],
)
def test_a_command_loads_only_what_it_needs(words: list[str], heavy: set[str]) -> None:
    code = LIGHT.format(words=words, heavy=heavy)
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_version_and_completion(process: Any) -> None:
    assert process("--version").out == f"agent-memory {agent_memory.__version__}\n"
    words = {"COMP_WORDS": "agent-memory rec", "COMP_CWORD": "1", "_AGENT_MEMORY_COMPLETE": "bash_complete"}
    found = {f"plain,{name}" for name in ("recall", "records", "receipt", "receipts", "recipes")}
    assert set(process(**words).out.split()) == found
