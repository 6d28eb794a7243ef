"""Every operation is a command, made from its declaration, with help, a reference and examples."""

from __future__ import annotations

import inspect
import json
import os
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import pytest

from agent_memory.app.operations import TABLE, Operation, Permission
from agent_memory.interfaces.cli import PROGRAM, commands, exits, listing, options, reference
from agent_memory.interfaces.cli.examples import EXAMPLES
from agent_memory.interfaces.cli.root import OWN, root
from agent_memory.models.answer import Recalled
from agent_memory.models.kinds.work import Goal
from agent_memory.models.record import Status
from patience import PATIENCE

PORT = "Staging listens on port 5433"


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


def test_the_list_of_commands_is_what_the_generator_writes() -> None:
    kept = Path(listing.__file__).with_name("listing.json").read_text("utf-8")
    assert kept == listing.made(), "run `python -m agent_memory.interfaces.cli.listing`"


def test_the_list_says_of_a_command_what_it_says_itself() -> None:
    context = click.Context(root)
    for name in listing.listed().names():
        made = root.get_command(context, name)
        assert made is not None
        assert listing.listed().about(name) == made.get_short_help_str(200)


@pytest.mark.parametrize(
    ("arguments", "completing"),
    [
        (["--help"], {}),
        ([], {"_AGENT_MEMORY_COMPLETE": "bash_complete", "COMP_WORDS": PROGRAM + " wo", "COMP_CWORD": "1"}),
    ],
)
def test_help_and_completion_of_the_whole_load_no_operation(arguments: list[str], completing: dict[str, str]) -> None:
    """They answer at once; what an operation needs takes several times as long to load."""
    watched = (
        "import atexit, sys; from agent_memory.interfaces.cli import main; "
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main(sys.argv[1:] or None)"
    )
    command, environment = [sys.executable, "-c", watched, *arguments], os.environ | completing
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE)
    assert "worker" in done.stdout and "working" in done.stdout
    assert not {"pydantic", "agent_memory.app", "agent_memory.core"} & {*done.stderr.split()}


def test_every_short_command_has_an_example_and_they_run(here: Any) -> None:
    short = {name for name in EXAMPLES if " " not in name}
    assert short == {*commands.top(), *OWN}
    elsewhere = {"chat", "demo", "guard", "import-mcp", "mcp", "migrate", "serve"}
    middle = sorted(short - {"add", "forget", "restore-memory"} - elsewhere)  # nothing was pruned here
    for name in ["add", *middle, "forget"]:
        example = EXAMPLES[name]
        if "RECEIPT" in example:
            asked = json.loads(here("recall", "staging", "--json").out)
            example = example.replace("RECEIPT", asked["receipt_id"])
        words = shlex.split(example)
        assert words[0] == name
        ran = here(*words)
        said = [line for line in ran.err.splitlines() if not line.startswith("what was known at ")]
        assert (ran.code, said) == (0, []), ran


def test_other_examples_run_too_and_help_shows_each(here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "repo")], check=True)
    monkeypatch.chdir(tmp_path / "repo")
    author = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *author, "commit", "--quiet", "--allow-empty", "--message", "begin"], check=True)
    here("add", "something to find")
    others = [name for name in EXAMPLES if " " in name]
    for name in (*others, "rules propose", "rules reject"):
        words = shlex.split(EXAMPLES[name])
        assert here(*name.split(), "--help").out.count(f"For example:\n    agent-memory {EXAMPLES[name]}\n") == 1
        if name == "rules hook" or (name == "rules reject" and not here("rules", "proposals").out):
            continue  # the one reads from a pipe; the other wants something that was not approved
        ran = here(*words)
        assert (ran.code, ran.err) == (0, ""), ran
    shown = {name.partition(" ")[2] for name in others}
    assert set(commands.group("rules").commands) - shown == {"git-hook", "propose-rule"}  # which wants a learning


def test_the_guide_has_every_exit_status() -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/cli.md").read_text("utf-8")
    assert [row for status, meaning in exits.MEANING.items() if (row := f"| {status} | {meaning} |") not in guide] == []


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
