"""The everyday commands, as somebody types them, as text and as JSON."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

PORT = "Staging listens on port 5433"


@pytest.mark.requirement("P10", "P15")
def test_add_says_what_it_wrote(here: Any) -> None:
    text = here("add", PORT, "--id", "port")
    assert (text.code, text.out, text.err) == (0, "created port (version 1)\n", "")
    again = here("add", PORT + ", since May", "--id", "port", "--json").json
    assert (again["id"], again["effect"], again["version"]) == ("port", "updated", 2)


@pytest.mark.requirement("C18")
def test_add_says_which_facts_look_alike(here: Any, terminal: Any) -> None:
    here("add", "Ada works in Lisbon", "--kind", "fact", "--id", "one")
    told = terminal("add", "Ada works from Lisbon", "--kind", "fact", "--id", "two")
    assert "says nearly the same as one, or contradicts it" in told.out


def test_an_import_brings_nothing_forgotten_back_unless_asked(here: Any, tmp_path: Path) -> None:
    here("add", PORT, "--id", "port")
    file = tmp_path / "lines.ndjson"
    file.write_text(here("export").out)
    here("forget", "port", "--yes")
    told = here("import", str(file)).out
    assert told == (
        "read 1 line: 0 created, 0 updated, 0 unchanged; 1 forgotten before, skipped "
        "(--restore-forgotten stores them)\n"
    )
    assert here("import", str(file), "--json").json["forgotten"] == 1
    assert here("import", str(file), "--restore-forgotten").out == "read 1 line: 1 created, 0 updated, 0 unchanged\n"


@pytest.mark.requirement("P10", "P15")
def test_recall_finds_it_and_says_why(here: Any, remembered: str) -> None:
    here("add", "The coffee machine is on the second floor")
    plain = here("recall", "which port is staging on?", "--k", "1")
    header, row = (line.split("\t") for line in plain.out.splitlines())
    assert header == ["relevance", "kind", "when", "id", "text"]
    assert (row[1], row[3], row[4]) == ("observation", "port", PORT)
    why = here("recall", "which port is staging on?", "--k", "1", "--why").out
    assert re.search(r"\tscore \d\.\d\d: vectors 0\.\d\d \+ words 0\.\d\d \+ ", why)
    assert "words: port, staging" in why
    assert "similarity 0." in why
    found = here("recall", "which port is staging on?", "--k", "1", "--json").json
    assert found["hits"][0]["record"]["text"] == PORT
    assert set(found["hits"][0]["why"]) == {
        "channels",
        "words",
        "dates",
        "entities",
        "similarity",
        "exact_key",
        "read_as",
    }
    assert datetime.fromisoformat(found["hits"][0]["record"]["recorded_at"]).tzinfo


def test_what_does_not_fit_is_grey_and_if_nothing_does_it_says_so(terminal: Any, here: Any, remembered: str) -> None:
    unfit, fit = "how do I bake sourdough bread?", "which port is staging on?"
    for columns in ("60", "120"):
        shown = terminal("recall", unfit, COLUMNS=columns).out
        assert "nothing fits well" in shown
        assert re.search(rf"\x1b\[[\d;]*2m[^\n]*{PORT}", shown), "grey"
        answered = terminal("recall", fit, COLUMNS=columns).out
        assert "nothing fits well" not in answered and not re.search(rf"\x1b\[2m{PORT}", answered)
        assert "score" not in answered
    assert here("recall", unfit).out.splitlines()[1].endswith(PORT), "a pipe gets the hits, and their relevance"


def test_a_hit_that_is_over_says_until_when_it_held(here: Any, terminal: Any) -> None:
    claim = (
        '{"claim": "%s is on call", "source": "user_stated", "subject": "call", "predicate": "is", "created_at": "%s"}'
    )
    here("semantic", "store-fact", claim % ("Ana", "2026-01-01T00:00:00Z"))
    here("semantic", "store-fact", claim % ("Bo", "2026-02-01T12:00:00Z"))
    first = here("recall", "who was on call on 10 January 2026?").out.splitlines()[1]
    assert "held until 2026-02-01" in first and first.endswith("Ana is on call")
    assert "held until 2026-02-01" in terminal("recall", "who was on call on 10 January 2026?").out
    assert "held" not in here("recall", "who is on call?").out


def test_the_version_that_a_question_about_the_past_asks_for_is_not_grey(here: Any, terminal: Any) -> None:
    for day, name in ((1, "CircleCI"), (2, "Buildkite"), (3, "Jenkins")):
        since = f"2026-01-0{day}T00:00:00Z"
        here("learn", f"CI runs on {name}", "--subject", "CI", "--predicate", "runs on", "--valid-from", since)
    shown = terminal("recall", "what did we use before Buildkite?", COLUMNS="120").out
    assert "nothing fits well" not in shown
    assert "CI runs on CircleCI" in shown and "\x1b[2mCI runs on CircleCI" not in shown
    assert "\x1b[2mCI runs on Jenkins" in shown


def test_why_tells_the_period_that_a_date_in_the_question_means(here: Any, terminal: Any) -> None:
    here("add", PORT, "--id", "port", "--valid-from", "2026-02-20T10:00:00+00:00")
    why = here("recall", "what was said on 20 February 2026?", "--why").out
    assert "dates: 20 February 2026 (2026-02-20 00:00 to 2026-02-21 00:00 UTC)" in why and "date 0.40" in why
    assert "meaning was compared in agent-memory-embedder@" in terminal("recall", "port", "--why").out
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
    assert "1 record forgotten since" in here("replay", receipt, "--now").out


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
    here("blocks", "set", "plan", "--text", "first this")
    refused = here("blocks", "delete", "plan")
    assert refused.code == 2 and "--yes" in refused.err and here("blocks", "get", "plan").code == 0
    assert here("blocks", "delete", "plan", "--yes").code == 0
    assert "no block 'plan'" in here("blocks", "get", "plan").err


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


def test_one_is_counted_as_one_and_none_as_none(here: Any, remembered: str) -> None:
    assert ", 1 version, " in here("verify").out
    assert "kinds: –\n" in here("--user", "nobody", "stats").out


@pytest.mark.parametrize("claim", ["", "  "])
def test_an_empty_claim_is_called_so(here: Any, claim: str) -> None:
    refused = here("learn", claim)
    assert (refused.code, "CLAIM: is empty" in refused.err) == (2, True), refused.err


def test_verify_lists_problems_and_exits_with_1(here: Any, remembered: str, store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("update contents set text = 'Staging listens on port 1'")
    found = here("verify")
    assert found.code == 1
    assert "problem: journal: line" in found.out
    found = here("verify", "--json")
    assert (found.code, found.json["ok"]) == (1, False)


def test_verify_expects_the_head_that_was_noted(here: Any, remembered: str) -> None:
    noted = re.search(r"^head: ([0-9]+:[0-9a-f]{64}[+][0-9]+:[0-9a-f]{64})$", here("verify").out, re.MULTILINE)
    assert noted and here("add", "another").code == 0
    assert here("verify", "--expect", noted[1]).code == 0
    cut = here("verify", "--expect", f"99{noted[1]}")
    assert cut.code == 1 and "the end was cut off" in cut.out
    assert here("verify", "--expect", "nonsense").code == 2


def test_a_recall_says_what_it_left_out(here: Any, terminal: Any, remembered: str, store: Path) -> None:
    with closing(sqlite3.connect(store)) as connection, connection:
        connection.execute("update vectors set data = x'00'")
    for command in ("recall", "context"):
        assert here(command, "staging", "--json").json["damaged"] == 1
    assert here("remember", "--query", "staging", "--json").json["damaged"] == 1
    for words in (["recall", "staging"], ["context", "staging"], ["remember", "--query", "staging"]):
        said = " ".join(terminal(*words, COLUMNS="300").out.split())
        assert "damaged rows left out: 1 (`agent-memory verify` names them)" in said, words
    assert here("rebuild", "--vectors").code == 0
    assert here("recall", "staging", "--json").json["damaged"] == 0 and here("verify").code == 0


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
    assert "## Active Goals" not in here("remember", "--query", "shipping").out


@pytest.mark.requirement("C5", "P15")
def test_a_working_set_outlives_a_command(here: Any) -> None:
    assert here("--conversation", "c1", "working", "set", "step", "2").code == 0
    assert here("--conversation", "c1", "working", "get", "step").out == "2\n"
    assert here("--conversation", "c2", "working", "get", "step", "--json").json is None


def test_users_tenants_and_stores_are_walls(here: Any, remembered: str, tmp_path: Path) -> None:
    assert here("--store", f"sqlite:///{tmp_path}/other.db", "--user", "bob", "add", "his").code == 0
    for words in (["--user", "bob"], ["--tenant", "other"], ["--store", f"sqlite:///{tmp_path}/other.db"]):
        assert here(*words, "list", "--json").json == []
    assert here("--agent", "builder", "add", "mine", "--id", "mine").code == 0
    assert len(here("--agent", "builder", "list", "--json").json) == 2
    assert len(here("list", "--json").json) == 1


def test_settings_are_defaults(here: Any, remembered: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_USER", "bob")
    assert here("list", "--json").json == []
    assert len(here("--user", "default", "list", "--json").json) == 1
