"""What the command line knows of whoever types: their repository, that a fact is theirs, how wide their screen is."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import JSONResponse

from agent_memory.interfaces.cli.commands import NEAR
from agent_memory.interfaces.cli.root import GROUPS, OWN


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shop"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    origin = ["git", "-C", str(folder), "remote", "add", "origin", "https://ada:pw@git.example/acme/shop.git"]
    subprocess.run(origin, check=True)
    (folder / "deep" / "inside").mkdir(parents=True)
    monkeypatch.chdir(folder / "deep" / "inside")
    return folder


def test_a_memory_belongs_to_the_repository_that_you_are_in(here: Any, clone: Path, tmp_path: Path) -> None:
    here("add", "of the shop", "--id", "placed")
    here("add", "of nowhere", "--id", "global", "--global")
    here("add", "of another", "--id", "named", "--repository", "other")
    assert here("show", "placed", "--json").json["repository"] == "git.example/acme/shop"
    assert here("show", "global", "--json").json["repository"] is None
    assert here("show", "named", "--json").json["repository"] == "other"
    assert [one["id"] for one in here("list", "--repository", "git.example/acme/shop", "--json").json] == ["placed"]


def test_outside_of_git_it_belongs_to_none(here: Any) -> None:
    here("add", "of nowhere", "--id", "one")
    assert here("show", "one", "--json").json["repository"] is None


def test_a_server_is_told_the_repository_of_whoever_types(here: Any, serving: Any, clone: Path) -> None:
    with serving() as url:
        here("add", "of the shop", "--id", "placed", "--store", url)
        assert here("show", "placed", "--json", "--store", url).json["repository"] == "git.example/acme/shop"


def test_a_server_that_is_older_is_asked_without_it(
    here: Any, serving: Any, one_server: Any, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as url:
        monkeypatch.setattr(one_server, "app", older(older(one_server.app, NEAR), "repository", "/v1/call/semantic"))
        here("add", "Deploys run from main", "--id", "one", "--store", url)
        ran = here("recall", "deploys", "--json", "--store", url)
        assert [hit["record"]["id"] for hit in ran.json["hits"]] == ["one"]
        said = here("recall", "deploys", "--near-repository", "other", "--store", url)
        assert (said.code, "--near-repository" in said.err) == (2, True), "what was asked for is never left out"
        assert here("learn", "Staging runs PostgreSQL 16", "--store", url).code == 0
        assert here("learn", "It does", "--repository", "other", "--store", url).code == 2


def older(app: Any, field: str, path: str = "") -> Any:
    """The same server, as if it did not know a field."""

    async def called(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        first = await receive()
        if field.encode() in first["body"] and scope["path"].startswith(path):
            said = {"code": "invalid_input", "detail": f"{field}: Extra inputs are not permitted", "field": field}
            await JSONResponse(said, 422)(scope, receive, send)
            return
        told = iter([first])

        async def again() -> Any:
            return next(told, None) or await receive()

        await app(scope, again, send)

    return called


def test_a_fact_that_is_typed_was_stated_by_the_user(here: Any) -> None:
    id = here("learn", "Staging runs PostgreSQL 16", "--json").json["id"]
    assert here("show", id, "--json").json["source"] == "user_stated"
    id = here("learn", "Staging runs PostgreSQL 17", "--source", "inferred", "--json").json["id"]
    assert here("show", id, "--json").json["source"] == "inferred"
    assert "[default: user_stated]" in " ".join(here("learn", "--help").out.split())


def test_sizes_are_for_people_and_numbers_for_programs(here: Any, remembered: str) -> None:
    shown = here("stats").out
    assert re.search(r"^bytes_on_disk: \d+ kB$", shown, re.M) and re.search(
        r"^resident_bytes: [\d.]+ [MG]B$", shown, re.M
    )
    assert re.search(r"^float32_bytes: \d+ (bytes|kB)$", shown, re.M)
    assert isinstance(here("stats", "--json").json["bytes_on_disk"], int)


def test_help_begins_with_what_to_begin_with(here: Any) -> None:
    out = here("--help").out
    titles = [title for title in GROUPS if f"\n{title}:\n" in out]
    assert titles == list(GROUPS) and titles[0] == "Start here"
    from agent_memory.interfaces.cli import commands

    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted([*commands.top(), *OWN]), "every short command is in one group"
    assert "\nMore:\n" not in out


@pytest.mark.parametrize("words", [["--help"], ["recall", "--help"], ["rules", "--help"], ["forget", "--help"]])
def test_help_is_as_wide_as_the_terminal(terminal: Any, words: list[str]) -> None:
    widths = {}
    for width in (60, 100, 160):
        lines = terminal(*words, COLUMNS=str(width)).out.splitlines()
        told = [line for line in lines if not line.startswith("    agent-memory ")]  # a line to copy is not broken
        widths[width] = max(map(len, told))
        assert widths[width] <= width
    assert widths[60] < widths[100] < widths[160]


def test_a_recall_prefers_where_you_are_a_little(here: Any, clone: Path) -> None:
    here("add", "Deploys run from main", "--id", "here")
    here("add", "Deploys run from main", "--id", "elsewhere", "--repository", "other")
    first = [
        here("recall", "deploys", *words, "--json").json["hits"][0]["record"]["id"] for words in ([], ["--global"])
    ]
    assert first == ["here", "elsewhere"], "of equals the newer comes first, unless one is from here"


def test_a_fact_belongs_to_the_repository_that_you_are_in_too(here: Any, clone: Path) -> None:
    said = {
        (): "git.example/acme/shop",
        ("--global",): None,
        ("--repository", "other"): "other",
    }
    for number, (words, repository) in enumerate(said.items()):
        learned = here("learn", f"Staging runs PostgreSQL 1{number}", *words, "--json").json
        assert (learned["repository"], here("show", learned["id"], "--json").json["repository"]) == (repository,) * 2
    again = here("learn", "Staging runs PostgreSQL 10", "--global", "--json").json
    assert again["repository"] == "git.example/acme/shop", "said again, it stays where it belongs"


def test_a_fact_can_be_true_since_another_day(here: Any) -> None:
    about = ("--subject", "staging", "--predicate", "runs")
    here("learn", "Staging runs PostgreSQL 16", *about, "--valid-from", "2026-01-31T12:00:00Z")
    here("learn", "Staging runs PostgreSQL 17", *about, "--valid-from", "2026-03-01T00:00:00Z")
    then = here("list", "--kind", "fact", "--valid-at", "2026-02-15T00:00:00Z", "--json").json
    assert [one["text"] for one in then] == ["Staging runs PostgreSQL 16"]
    assert [one["text"] for one in here("list", "--kind", "fact", "--json").json] == ["Staging runs PostgreSQL 17"]


def test_a_context_and_a_bundle_prefer_where_you_are_a_little(here: Any, clone: Path) -> None:
    for name, words in {"red": [], "blue": ["--repository", "other"]}.items():
        here("learn", f"Deploys run from the {name} branch", *words)
    for other in ("The coffee machine is on the second floor", "Ada prefers tea"):
        here("learn", other, "--global")
    task = "where do deploys run from?"
    asked = ("context", task, "--min-relevance", "0.5")
    whole = here(*asked, "--json").json["total_tokens"]
    first = []
    for words in ([], ["--global"]):
        context = here(*asked, "--max-tokens", str(whole - 1), *words, "--json").json
        bundle = here("remember", "--query", task, *words, "--json").json
        (kept,) = context["chunks"]
        assert kept["content"] == bundle["facts"][0]["claim"]
        first.append(kept["content"].split()[4])
    (plain,) = here("recall", task, "-k", "1", "--global", "--json").json["hits"]
    assert first == ["red", plain["record"]["text"].split()[4]], "what is from here comes first, unless that is off"


def test_whatever_takes_a_repository_is_told_yours_but_what_erases() -> None:
    from agent_memory.app.operations import TABLE
    from agent_memory.interfaces.cli import commands

    told = {
        name
        for name, operation in TABLE.items()
        if "--global" in {flag for param in commands.command("x", operation).params for flag in param.opts}
    }
    assert told == {"records.add", "semantic.learn_fact", "recall", "remember", "contexts.assemble"}
