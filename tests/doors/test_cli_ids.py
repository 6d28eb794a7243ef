"""Ids as people type them: the first characters, `@last`, and what the shell completes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.interfaces.cli.ids import MOST
from agent_memory.models.model import new_id

Ask = Callable[..., Any]
PORT = "p0rt"  # how ids could begin that we give


@pytest.fixture(params=["file", "server"])
def ask(request: pytest.FixtureRequest, here: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """The command line, of a file and of a server."""
    if request.param == "file":
        yield here
        return
    with request.getfixturevalue("serving")() as url:
        monkeypatch.setenv("AGENT_MEMORY_STORE", url)
        yield here


def test_the_first_characters_stand_for_an_id(ask: Ask) -> None:
    id = ask("add", "Staging listens on port 5433", "--json").json["id"]
    for words in (["show", id[:8], "--json"], ["show", id, "--json"]):
        assert ask(*words).json["id"] == id
    assert ask("amend", id[:10], "--importance", "0.9", "--json").json["id"] == id
    assert ask("history", id[:8], "--json").json[0]["id"] == id
    assert {line["record_id"] for line in ask("journal", "--id", id[:8], "--json").json} == {id}
    assert ask("forget", id[:8], "--yes", "--json").json["ids"] == [id]
    assert ask("show", id[:8]).code == 3


def test_several_that_begin_alike_are_named_and_nothing_is_done(ask: Ask) -> None:
    one, two = PORT + "a" * 22, PORT + "b" * 22
    ask("add", "The first port", "--id", one)
    ask("add", "The second port", "--id", two)
    said = f"{PORT!r} could be {one[:8]} (observation: The first port) or {two[:8]} (observation: The second"
    for words in (["show", PORT], ["forget", PORT, "--yes"], ["forget", one, PORT, "--yes"]):
        ran = ask(*words)
        assert (ran.code, said in ran.err) == (2, True), ran.err
    assert len(ask("list", "--json").json) == 2
    ask("add", "just port", "--id", PORT)
    assert ask("show", PORT, "--json").json["text"] == "just port", "what is whole is no beginning"


def test_what_holds_is_shown_whatever_was_written_last(ask: Ask) -> None:
    one, two = PORT + "a" * 22, PORT + "b" * 22
    about = ("--kind", "fact", "--payload", '{"subject": "payments", "predicate": "on call"}', "--id", one)
    ask("add", "Cy is on call", *about, "--valid-from", "4 days ago")
    ask("add", "Ana is on call", *about, "--valid-from", "21 days ago")
    ask("add", "It was busy", "--id", two, "--valid-from", "9 days ago", "--valid-to", "8 days ago")
    assert f"could be {one[:8]} (fact: Cy is on call) or {two[:8]} (observation: It was busy)" in ask("show", PORT).err
    assert ask("forget", one, two, "--dry-run").err.split("\n")[:2] == [
        "  fact  Cy is on call",
        "  observation  It was busy",
    ]
    assert ask("show", PORT[:3]).code == 3, "three characters are too few to guess from"


def test_an_id_of_your_own_is_never_the_beginning_of_another(ask: Ask) -> None:
    ask("add", "the first", "--id", "user-1")
    ask("add", "the tenth", "--id", "user-10")
    assert ask("forget", "user-1", "--yes", "--json").json["ids"] == ["user-1"]
    for name, *words in (["forget", "--yes"], ["amend", "--importance", "1"], ["edit", "--text", "x"]):
        assert ask(name, "user-1", *words).code == 3, name
    assert len(ask("history", "user-10", "--json").json) == 1


def test_ids_of_your_own_hide_none_of_ours(here: Any) -> None:
    ours = [PORT + letter * 22 for letter in "ab"]
    for id in (*(f"{PORT}-{n}" for n in range(MOST - 1)), *ours):
        here("add", "x", "--id", id)
    assert here("show", PORT).code == 2, "there are two, though only one was among the first"
    for id in ours:
        assert here("show", id[:5], "--json").json["id"] == id


def test_what_others_have_is_never_found_by_its_beginning(ask: Ask) -> None:
    ask("add", "secret", "--id", PORT + "a" * 22, "--user", "bob")
    ask("add", "secret", "--id", PORT + "b" * 22, "--tenant", "other")
    ran = ask("show", PORT)
    assert (ran.code, f"no record {PORT!r}" in ran.err) == (3, True)
    ask("add", "mine", "--id", PORT + "c" * 22)
    assert ask("show", PORT, "--json").json["id"] == PORT + "c" * 22


def test_last_is_what_you_wrote_last(ask: Ask) -> None:
    assert ask("add", "one", "--id", "one").code == 0
    ask("add", "two", "--id", "two")
    ask("add", "his", "--id", "his", "--user", "bob")
    assert ask("show", "@last", "--json").json["id"] == "two"
    ask("amend", "one", "--importance", "0.9")
    assert ask("show", "@last", "--json").json["id"] == "one"
    assert ask("forget", "@last", "--yes", "--json").json["ids"] == ["one"]
    again = ask("forget", "@last", "--yes")
    assert (again.code, "wrote last was forgotten" in again.err) == (3, True), "said twice, it takes no other one"
    ask("add", "three", "--id", "three")
    assert ask("show", "@last", "--json").json["id"] == "three"
    none = ask("show", "@last", "--user", "nobody")
    assert (none.code, "wrote nothing" in none.err) == (3, True)


def test_a_new_id_is_taken_as_it_is(here: Any) -> None:
    here("add", "one", "--id", "port-one")
    assert here("add", "two", "--id", "port", "--json").json["id"] == "port"


def test_a_terminal_shows_as_many_characters_as_it_takes(terminal: Any, here: Any) -> None:
    first, alike = new_id(), new_id()
    alike = first[:12] + alike[12:] if alike[12:] != first[12:] else alike
    with AgentMemory("default") as memory:
        memory.records.add("alone")
    (alone,) = (one["id"] for one in here("list", "--json").json)
    for words in (["list"], ["recall", "alone"], ["journal"]):
        out = terminal(*words).out
        assert alone[:8] in out and alone[:9] not in out, words
    assert alone in here("list").out, "a pipe gets it whole"
    with AgentMemory("default") as memory:
        for id in (first, alike):
            memory.records.add("alike", id=id)
    out = terminal("list").out
    for id in (first, alike):
        shown = next(id[:size] for size in range(26, 0, -1) if id[:size] in out)
        assert len(shown) > 12 and here("show", shown, "--json").json["id"] == id


def completed(process: Any, line: str, **environment: str) -> list[str]:
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_AGENT_MEMORY_COMPLETE": "bash_complete"}
    return [one.removeprefix("plain,") for one in process(**asked, **environment).out.split()]


def test_the_shell_completes_ids_and_kinds(process: Any, here: Any, home: Any) -> None:
    assert completed(process, "agent-memory show ") == [], "nothing is created, and nothing is said"
    assert not home.exists()
    here("add", "one", "--id", "port-one")
    here("add", "two", "--id", "port-two")
    here("add", "his", "--id", "port-of-bob", "--user", "bob")
    assert completed(process, "agent-memory show po") == ["port-one", "port-two"]
    assert completed(process, "agent-memory forget port-one port-t") == ["port-two"]
    assert sorted(completed(process, "agent-memory history ")) == ["port-one", "port-two"]
    assert completed(process, "agent-memory --user bob show po") == ["port-of-bob"]
    assert completed(process, "agent-memory show @") == ["@last"]
    assert completed(process, "agent-memory list --kind pre") == ["preference"]
    assert completed(process, "agent-memory add x --kind obs") == ["observation"]
    assert "fact" in completed(process, "agent-memory forget --kind ")


def test_a_server_completes_ids(process: Any, here: Any, serving: Any) -> None:
    here("add", "one", "--id", "port-one")
    with serving() as url:
        assert completed(process, "agent-memory show po", AGENT_MEMORY_STORE=url) == ["port-one"]
