"""Help, other words for options, suggestions and hints: what somebody new to the command line meets."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

import agent_memory.app.namespaces  # noqa: F401 - fills the table
from agent_memory.app import wording
from agent_memory.app.operations import TABLE
from agent_memory.interfaces.cli import commands, options, shapes, suggest
from agent_memory.interfaces.cli.root import OWN
from agent_memory.interfaces.cli.whose import WHOSE
from agent_memory.models.recipe import Recipe

ROOT = Path(__file__).parents[2]


def words(text: str) -> str:
    return " ".join(text.split())


def hint(ran: Any) -> str:
    said = [line.removeprefix("hint: ") for line in ran.err.splitlines() if line.startswith("hint: ")]
    assert len(said) == 1
    return said[0]


# -- help


def test_plain_words_are_not_called_json(here: Any) -> None:
    for command in (["records", "forget"], ["procedural", "learn-strategy"], ["semantic", "get-entity-graph"]):
        out = here(*command, "--help").out
        assert "JSON list" not in out
        assert "one or more, with spaces between them" in words(out)
    assert "GOAL is a JSON object: description, [" in words(here("goals", "add", "--help").out)
    assert "RECORDS is a JSON list of objects" in words(here("records", "add-many", "--help").out)
    assert "QUERY_EMBEDDING is a JSON list of numbers" in words(here("episodic", "vector-search", "--help").out)


def test_help_belongs_to_the_operation(here: Any) -> None:
    journal = words(here("journal", "--help").out)
    assert "of your own" not in journal
    assert "--id TEXT only lines about this record" in journal
    assert "--after INTEGER only lines after the one with this seq" in journal
    assert "begins" not in journal
    assert "an id of your own" in words(here("add", "--help").out)
    assert "--after MOMENT only what begins at this moment or later" in words(here("list", "--help").out)
    assert "its new status" in words(here("amend", "--help").out)
    assert "only with this status" in words(here("recall", "--help").out)
    assert "the conversation it belongs to" in words(here("add", "--help").out)


def test_every_option_is_explained_and_no_explanation_is_left_over() -> None:
    options_said, said = set(), set()
    for name, operation in TABLE.items():
        for param in options.parameters(operation.signature, name):
            key = f"{name} {param.name}"
            word = key if key in wording.HELP else param.name
            said.add(word)
            if isinstance(param, click.Option):
                options_said.add(word)
                dated = isinstance(param.type, options.MomentType)
                assert dated or param.name != "after" or key in wording.HELP
    explained = set(wording.HELP)
    assert options_said - explained == set(), "an option without words of its own"
    assert explained - said == set(), "words for an argument that does not exist"


# -- other words for the same


def test_kind_can_be_given_several_times(here: Any) -> None:
    for kind in ("observation", "decision", "plan"):
        assert here("add", f"the {kind} about staging", "--kind", kind, "--id", kind).code == 0
    for command in (["recall", "staging"], ["list"]):
        for option in ("--kind", "--kinds"):
            found = here(*command, option, "decision", option, "plan", "--json").json
            hits = found["hits"] if isinstance(found, dict) else found
            assert {one.get("record", one)["kind"] for one in hits} == {"decision", "plan"}


@pytest.mark.parametrize("option", ["-k", "--k", "--limit", "--top-k"])
def test_how_many_hits_has_many_names(here: Any, option: str) -> None:
    for number in range(3):
        here("add", f"staging {number}")
    assert len(here("recall", "staging", option, "2", "--json").json["hits"]) == 2
    assert option in here("recall", "--help").out


def test_an_alias_never_takes_a_name_that_is_taken() -> None:
    for name, operation in TABLE.items():
        named = [word for param in commands.command("x", operation).params for word in param.opts]
        assert len(named) == len(set(named)), name


# -- options that belong before the command


def test_whose_memory_it_is_can_be_said_after_the_command(here: Any, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    assert here("add", "bob's", "--user", "bob", "--id", "b").code == 0
    assert here("list", "--json").json == []
    assert [one["id"] for one in here("list", "--user", "bob", "--json").json] == ["b"]
    assert [one["id"] for one in here("records", "--user", "bob", "find", "--json").json] == ["b"]
    assert here("--user", "ada", "list", "--user", "bob", "--json").json != [], "the one nearer to the command counts"
    assert here("add", "elsewhere", "--store", other, "--tenant", "t", "--agent", "a").code == 0
    assert len(here("--store", other, "--tenant", "t", "--agent", "a", "list", "--json").json) == 1
    assert here("--store", other, "--tenant", "t", "list", "--json").json == []
    assert here("working", "set", "step", "2", "--conversation", "c1").code == 0
    assert here("--conversation", "c1", "working", "get", "step").out == "2\n"
    assert str(tmp_path / "none.db") in here("doctor", "--store", f"sqlite:///{tmp_path / 'none.db'}").out


def test_what_could_mean_two_things_is_refused(here: Any) -> None:
    ran = here("list", "--conversation", "c1")
    assert ran.code == 2
    assert "put --conversation before the command" in ran.err
    assert "--conversation-id" in ran.err


def test_no_operation_takes_a_name_that_belongs_before_the_command() -> None:
    """Such an option would win over the one before the command, and mean something else."""
    taken = {option.removeprefix("--") for option in WHOSE}
    assert [name for name, operation in TABLE.items() if taken & set(operation.signature)] == []


# -- suggestions


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("get", "show"),
        ("gett", "show"),
        ("search", "recall"),
        ("serach", "recall"),
        ("find", "recall"),
        ("ls", "list"),
        ("log", "journal"),
        ("recal", "recall"),
        ("histroy", "history"),
        ("remove", "forget"),
        ("forgt", "forget"),
        ("restore", "restore-memory"),
    ],
)
def test_suggestions(here: Any, typed: str, meant: str) -> None:
    ran = here(typed, "x")
    assert (ran.code, ran.out) == (2, "")
    assert f"did you mean {meant!r}?" in ran.err


@pytest.mark.parametrize(
    "typed", ["get", "gets", "got", "fget", "search", "form", "forward", "target", "read", "format"]
)
def test_nothing_that_erases_is_suggested_by_chance(here: Any, typed: str) -> None:
    assert "forget" not in here(typed, "x").err
    assert "forget" not in here("records", typed, "x", "--help").err


def test_suggestions_exist() -> None:
    assert set(suggest.MEANT.values()) <= {*commands.top(), *OWN}
    erasing = {name: operation.command for name, operation in TABLE.items() if operation.erases}
    assert set(commands.QUESTIONS) <= set(erasing) and {*erasing.values()} - {None} == suggest.ERASING
    assert not set(suggest.MEANT) & {*commands.top(), *OWN, *commands.namespaces()}


# -- hints


def test_words_without_quotes(here: Any) -> None:
    ran = here("add", "two", "words", "and more")
    assert (ran.code, ran.out) == (2, "")
    assert hint(ran).endswith("agent-memory add 'two words and more'")
    assert hint(here("recall", "which", "port?")).endswith("agent-memory recall 'which port?'")
    assert "quote" in hint(here("prefer", "git", "merge", "style", "rebase"))
    for command in (["list", "fact"], ["show", "a", "b"]):
        ran = here(*command)
        assert (ran.code, "quote" in ran.err) == (2, False)
    assert here("list").code == 6, "nothing was stored"


MODELS = [
    (name.replace("_", "-").split("."), parameter)
    for name, operation in TABLE.items()
    for parameter, given in operation.signature.items()
    if list(operation.signature) == [parameter] and shapes._fields(given.annotation) is not None
]


@pytest.mark.parametrize(("command", "argument"), MODELS, ids=lambda value: str(value))
def test_the_example_in_a_hint_can_be_typed(here: Any, command: list[str], argument: str) -> None:
    ran = here(*command, "Cut latency")
    assert (ran.code, ran.out) == (2, "")
    assert argument.upper() in ran.err
    example = hint(ran).removeprefix("for example: agent-memory ")
    assert "Cut latency" in example
    assert here(*shlex.split(example)).code == 0, example


def test_hints_for_other_json(here: Any) -> None:
    assert hint(here("goals", "add", "Cut latency")) == (
        """for example: agent-memory goals add '{"description": "Cut latency"}'"""
    )
    assert "DESCRIPTION" in hint(here("goals", "add", '{"description": "x"'))
    assert "must be a JSON object" in here("goals", "add", "[1]").err
    assert "must be a JSON list" in here("records", "add-many", "{}").err
    many = hint(here("records", "add-many", "one")).removeprefix("for example: agent-memory ")
    assert here(*shlex.split(many)).code == 0
    assert hint(here("add", "x", "--payload", "{")) == """for example --payload '{"name": "value"}'"""
    assert '"source_id": "SOURCE_ID"' in hint(here("add", "x", "--links", "other"))
    assert "TOOL_INPUT is for example" in hint(
        here("procedural", "record-invocation", "t", "x", "y", "--success", "--latency-ms", "1")
    )
    assert Recipe(**json.loads(shapes.example("recipe", Recipe))) == Recipe(), "where nothing is required"


def test_after_must_come_before_before(here: Any, remembered: str) -> None:
    for command in (["list"], ["recall", "x"]):
        ran = here(*command, "--after", "2026-02", "--before", "2026-01")
        assert (ran.code, ran.out) == (2, "")
        assert "after: 2026-02-01 00:00 is later than before: 2026-01-01 00:00" in ran.err
        assert here(*command, "--after", "2026-01", "--before", "2026-02").code == 0


# -- completion


def test_completion_as_the_reference_says(process: Any) -> None:
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")
    assert '\neval "$(_AGENT_MEMORY_COMPLETE=bash_source agent-memory)"\n' in page
    ran = process(_AGENT_MEMORY_COMPLETE="bash_source")
    assert ran.code == 0
    assert "complete -o nosort -F" in ran.out
    typed = {"COMP_WORDS": "agent-memory recall --ki", "COMP_CWORD": "2", "_AGENT_MEMORY_COMPLETE": "bash_complete"}
    assert process(**typed).out.split() == ["plain,--kinds", "plain,--kind"]


def test_the_readme_says_how_to_get_the_command() -> None:
    part = re.split(r"^## ", (ROOT / "README.md").read_text("utf-8"), flags=re.M)[1]
    assert part.startswith("Try it")
    for way in (".venv/bin/agent-memory", ".venv/bin/activate", "pipx install '.[server,grpc,mcp]'", "pip install '.["):
        assert way in part
