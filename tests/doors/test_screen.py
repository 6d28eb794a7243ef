"""Answers at terminals of every width: nothing is lost, and what must stay whole stays whole."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.interfaces.cli import present
from agent_memory.interfaces.cli.blocks import Interval
from agent_memory.interfaces.cli.output import shown

TEXT = "The staging database of orders moved from staging-db-1 to staging-db-2, which listens on port 5433 since May"
LONG = "word " * 200 + "end"
LONG_ID = "an-id-that-somebody-made-up-and-that-is-longer-than-the-terminal-is-wide"
WIDTHS = ["40", "60", "80", "89", "100", "119", "200"]
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def lines(out: str) -> list[str]:
    """What the screen shows, before the terminal itself breaks a line."""
    return [line.rstrip() for line in ANSI.sub("", out).replace("\r\n", "\n").split("\n")]


def squeezed(out: str) -> str:
    return "".join("".join(lines(out)).split())


@pytest.fixture
def filled() -> list[str]:
    with AgentMemory("default") as memory:
        ids = [memory.records.add(TEXT).id, memory.records.add(TEXT + " 2026", id=LONG_ID).id]
        memory.records.add(TEXT + ", and June", id=LONG_ID)
    return ids


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("words", [["list"], ["recall", "staging database", "--why"], ["history", LONG_ID]])
def test_no_width_loses_text_ids_or_numbers(terminal: Any, filled: list[str], words: list[str], width: str) -> None:
    ran = terminal(*words, COLUMNS=width)
    shown = lines(ran.out)
    assert ran.code == 0
    texts = [TEXT, TEXT + ", and June"] if words[0] != "history" else [TEXT + " 2026", TEXT + ", and June"]
    for text in texts:
        assert "".join(text.split()) in squeezed(ran.out)
    if words[0] != "history":
        for id in filled:
            known = [line for line in shown if any(len(word) >= 8 and id.startswith(word) for word in line.split())]
            assert len(known) == 1, "an id is on one line, and so much of it that it is known"
    if words[0] == "recall":
        assert len(re.findall(r"(?<![\d.])\d\.\d\d(?![\d.])", " ".join(shown))) >= 4
    assert not any("…" in line for line in shown)
    fitting = [line for line in shown if LONG_ID not in line]
    assert max(map(len, fitting)) <= int(width)


@pytest.mark.parametrize("width", ["40", "80", "89"])
def test_a_narrow_terminal_gets_a_block_per_record(terminal: Any, width: str) -> None:
    with AgentMemory("default") as memory:
        memory.records.add(TEXT, id="db")
        memory.records.add(TEXT + "!", id="db")
    listed = lines(terminal("list", COLUMNS=width).out)
    assert listed[0].startswith("db  observation  20")
    assert listed[-2].startswith("  ")
    assert [line for line in listed if line and not line.startswith("  ")][-1].endswith("version 2")
    recalled = lines(terminal("recall", "staging", COLUMNS=width).out)
    assert recalled[0].startswith("db  observation  20")
    assert any(re.search(r"relevance \d\.\d\d$", line) for line in recalled)
    versions = lines(terminal("history", "db", COLUMNS=width).out)
    assert next(line for line in versions if line.startswith("version ")).startswith("version 1  active")
    texts = [line for line in versions if line.startswith("  ")]
    assert max(map(len, texts)) > int(width) * 0.7, "the text has the whole width"


def test_history_has_room_for_its_text_on_any_screen(terminal: Any, filled: list[str]) -> None:
    out = lines(terminal("history", LONG_ID, COLUMNS="100").out)
    assert any(line.startswith(f"  {TEXT[:80]}") for line in out)
    wide = lines(terminal("history", LONG_ID, COLUMNS="240").out)
    assert wide[0].split() == ["version", "valid", "recorded", "status", "text"]


@pytest.mark.parametrize("width", ["40", "100", "200"])
def test_other_tables_and_cards_keep_ids_whole(terminal: Any, here: Any, width: str) -> None:
    with AgentMemory("default") as memory:
        memory.records.add("x", id=LONG_ID, reason="because somebody asked for it, twice")
    goal = here("goals", "add", '{"description": "Cut latency"}', "--json").json["id"]
    for words, id in ((["journal"], LONG_ID), (["show", LONG_ID], LONG_ID), (["goals", "active"], goal)):
        out = terminal(*words, COLUMNS=width).out
        assert any(id in line.split() for line in lines(out)), words
    assert "becausesomebodyaskedforit,twice" in squeezed(terminal("journal", COLUMNS=width).out)
    assert any(LONG_ID in line for line in lines(terminal("show", LONG_ID + "!", COLUMNS=width).out))


def test_long_texts_are_cut_in_lists_and_whole_in_show(terminal: Any, here: Any) -> None:
    with AgentMemory("default") as memory:
        memory.records.add(LONG, id="long")
    whole = "".join(LONG.split())
    for words in (["list"], ["recall", "word"]):
        for width in ("40", "100", "200"):
            out = terminal(*words, COLUMNS=width).out
            assert whole not in squeezed(out)
            assert "…" in out
            assert "show ID" in " ".join(" ".join(lines(out)).split())
        _, row = here(*words).out.splitlines()
        text = row.split("\t")[-1]
        assert len(text) <= present.LONGEST
        assert text.endswith("…")
    assert whole in squeezed(terminal("show", "long", COLUMNS="40").out)
    assert here("show", "long").out.endswith(f"\n\n{LONG}\n")
    assert here("list", "--json").json[0]["text"] == LONG
    assert whole in squeezed(here("history", "long").out)


def test_a_text_of_the_longest_length_is_not_cut(terminal: Any) -> None:
    with AgentMemory("default") as memory:
        memory.records.add("x" * present.LONGEST, id="fits")
    out = terminal("list", COLUMNS="80").out
    assert "x" * present.LONGEST in squeezed(out)
    assert "show ID" not in out


def test_what_begins_in_the_future_is_not_said_to_hold_now(here: Any, terminal: Any) -> None:
    here("add", "The freeze begins", "--id", "freeze", "--valid-from", "2199-01-01T00:00:00Z")
    assert "valid: from 2" in here("show", "freeze").out
    assert re.search(r"valid +from 2", "\n".join(lines(terminal("show", "freeze").out)))
    assert "→ now" not in here("show", "freeze").out.split("recorded")[0]
    now = datetime.now(UTC)
    hour = timedelta(hours=1)
    assert shown(Interval(now - hour, None)).endswith("→ now")
    assert shown(Interval(now + hour, None)).startswith("from ")
    assert " → " in shown(Interval(now + hour, now + 2 * hour))


# -- empty answers


def test_an_empty_answer_says_who_was_asked_and_where(terminal: Any, here: Any, store: Any) -> None:
    here("keys", "create", "somebody")
    first = " ".join(lines(terminal("list").out))
    assert f"nothing found for user 'default' in sqlite:///{store}" in " ".join(first.split())
    assert "--user" not in first
    here("add", "somebody's secret", "--user", "bob")
    for words in (["list"], ["recall", "secret"], ["preferences"], ["remember", "--query", "secret"], ["journal"]):
        out = " ".join(" ".join(lines(terminal(*words).out)).split())
        assert "nothing found for user 'default'" in out, words
        assert "--user NAME" in out
        assert "bob" not in out
        assert "secret" not in out
    here("add", "mine")
    out = " ".join(" ".join(lines(terminal("list", "--kind", "fact").out)).split())
    assert "nothing found for user 'default'" in out
    assert "--user" not in out
    assert here("list", "--kind", "fact").out == ""
    assert here("list", "--kind", "fact", "--json").json == []


# -- the journal, from its end


def numbers(out: str) -> list[int]:
    return [int(line.split("\t")[0]) for line in out.splitlines()[1:]]


def test_the_journal_shows_its_last_lines(here: Any) -> None:
    with AgentMemory("default") as memory, AgentMemory("bob") as other:
        for number in range(6):
            memory.records.add(f"mine {number}", id=f"m{number}")
        other.records.add_many([{"text": f"not mine {number}"} for number in range(30)])
        every = [line.seq for line in memory.records.journal()]
    assert numbers(here("journal").out) == every
    assert numbers(here("journal", "--limit", "2").out) == every[-2:], "though 30 lines of another user are newer"
    assert [line["seq"] for line in here("journal", "--limit", "4", "--json").json] == every[-4:]
    assert numbers(here("journal", "--after", "0", "--limit", "2").out) == every[:2]
    assert numbers(here("journal", "--after", str(every[1]), "--limit", "1").out) == every[2:3]
    assert numbers(here("journal", "--id", "m1").out) == [every[1]]
    assert numbers(here("journal", "--user", "bob", "--limit", "1").out)[0] > every[-1]


def test_the_journals_last_lines_are_found_behind_many(here: Any) -> None:
    with AgentMemory("default") as memory:
        memory.records.add_many([{"text": f"line {number}"} for number in range(2500)])
        last = memory.upkeep.stats()["seq"]
    assert numbers(here("journal", "--limit", "3").out) == [last - 2, last - 1, last]
    assert len(numbers(here("journal", "--limit", "2400").out)) == 2400


# -- ids that are not there


@pytest.mark.parametrize("words", [["show"], ["history"], ["amend", "--importance", "1"], ["forget", "--yes"]])
def test_a_forgotten_id_says_when_and_why(here: Any, words: list[str]) -> None:
    here("add", "secret", "--id", "gone")
    here("add", "other", "--id", "quiet")
    here("forget", "gone", "--yes", "--reason", "asked to")
    here("forget", "quiet", "--yes")
    here("add", "later", "--id", "later")
    command, *options = words
    ran = here(command, "gone", *options)
    today = datetime.now().astimezone().strftime("%Y-%m-%d")
    assert (ran.code, ran.out) == (3, "")
    assert f"'gone' was forgotten on {today}" in ran.err
    assert "(reason: asked to)" in ran.err
    assert "no reason was given" in here(command, "quiet", *options).err
    line = re.search(r"`agent-memory (journal [^`]*)`", ran.err)
    assert line is not None
    assert "\terase\tdefault\tgone\tasked to" in here(*line[1].split()).out
    assert "forgotten" not in here(command, "gone", *options, "--user", "bob").err, "nobody else's business"


def test_an_unknown_id_is_no_circle_of_hints(here: Any, remembered: str) -> None:
    for command in ("show", "history"):
        ran = here(command, "nosuch")
        assert ran.code == 3
        assert "no record 'nosuch' of user 'default'" in ran.err
        assert "`agent-memory list`" in ran.err
        assert "history" not in ran.err.splitlines()[1]
    here("add", "once", "--id", "once", "--valid-from", "2020-01-01", "--valid-to", "2021-01-01")
    ended = here("show", "once")
    assert (ended.code, "`agent-memory history once`" in ended.err) == (3, True)
    assert here("history", "once").code == 0


def test_a_forgotten_id_is_found_behind_many_lines(here: Any) -> None:
    here("add", "secret", "--id", "gone")
    here("forget", "gone", "--yes")
    with AgentMemory("default") as memory:
        memory.records.add_many([{"text": f"line {number}"} for number in range(2500)])
    assert "was forgotten on" in here("show", "gone").err


def test_an_error_about_another_id_is_left_alone(here: Any) -> None:
    link = '{"source_id": "new", "target_id": "nosuch", "type": "about"}'
    ran = here("add", "x", "--id", "new", "--links", link)
    assert ran.code == 3
    assert "'nosuch'" in ran.err
    assert "'new'" not in ran.err


def test_a_narrow_terminal_names_every_number(terminal: Any, filled: list[str]) -> None:
    with AgentMemory("default") as memory:
        memory.recall("staging")
    shown = lines(terminal("receipts", "costs", COLUMNS="40").out)
    assert any(re.fullmatch(r"  p95_ms [\d.]+", line) for line in shown), shown
