"""The verdict on messages, paths, tools and texts; commands are in `test_judge_commands.py`."""

from __future__ import annotations

from typing import Any

import pytest

from agent_memory.core.rules.judge import judge, wants_text
from agent_memory.models.rules import Action, Argument, Check, Place, Rule, Verdict

pytestmark = pytest.mark.requirement("P4")
AT = Place(path=".memory/procedural.md", line=7, commit="0123456789abcdef")


def rule(severity: str = "deny", **parts: Any) -> Rule:
    about = {name: parts.pop(name) for name in list(parts) if name in Check.model_fields}
    check = Check(**about) if about else None
    return Rule(**{"id": "r", "text": "So it is.", "severity": severity, "check": check, "at": AT, **parts})


def ask(one: Rule, **action: Any) -> Verdict:
    return judge([one], Action(**action))


CONVENTIONAL = rule("require", subject="commit message", patterns=("conventional",), because="tools read them")
AUDIT = rule("require", subject="path", patterns=("logs/audit*.log",), every_line=("request_id=",))
DATABASE = rule(
    subject="tool",
    patterns=("sql", "mcp__db__*"),
    where=(
        Argument(name="database", pattern="prod*"),
        Argument(name="query", pattern=r"/(?i)\b(drop|delete)\b/"),
        Argument(name="query", pattern="TRUNCATE*"),
    ),
)


def test_a_violation_cites_the_rule_its_place_and_what_is_wrong() -> None:
    verdict = ask(CONVENTIONAL, commit_message="add things")
    assert not verdict.allowed
    assert verdict.checked == 1
    (violation,) = verdict.violations
    assert (violation.rule, violation.at, violation.because) == ("r", AT, "tools read them")
    assert violation.matched == "add things"
    assert violation.certain
    assert "has no type" in (violation.why or "")
    assert ask(CONVENTIONAL, commit_message="feat: add things").allowed


def test_a_message_must_match_one_form_and_may_match_no_forbidden_one() -> None:
    ticket = rule("require", subject="commit message", patterns=(r"/^[A-Z]+-\d+: /", "conventional"))
    assert ask(ticket, commit_message="OPS-1: drain").allowed
    assert ask(ticket, commit_message="fix: drain").allowed
    assert not ask(ticket, commit_message="drain").allowed
    unfinished = rule(subject="commit message", patterns=("WIP",), unless=("/^fixup! /",))
    assert not ask(unfinished, commit_message="WIP x").allowed
    assert ask(unfinished, commit_message="fixup! WIP x").allowed
    assert ask(unfinished, commit_message="feat: x").allowed


def test_every_message_on_a_branch() -> None:
    protected = rule(subject="commit message", branches=("main", "release/*"))
    assert not ask(protected, commit_message="feat: x", branch="main").allowed
    denied = ask(protected, commit_message="feat: x", branch="release/1.2")
    assert denied.violations[0].why == "on the branch release/1.2"
    assert ask(protected, commit_message="feat: x", branch="feature").allowed
    assert ask(protected, commit_message="feat: x").allowed


def test_a_branch_says_where_something_is_required_unless_it_is_itself_what_is_required() -> None:
    strict = rule("require", subject="commit message", patterns=("conventional",), branches=("main",))
    assert not ask(strict, commit_message="x", branch="main").allowed
    assert ask(strict, commit_message="x", branch="feature").allowed
    released = rule("require", subject="tool", patterns=("deploy",), branches=("main",))
    assert ask(released, tool="deploy", branch="main").allowed
    assert not ask(released, tool="deploy", branch="feature").allowed
    assert not ask(released, tool="deploy").allowed


def test_every_line_of_a_path() -> None:
    good = "a request_id=1\n\nb request_id=2\r\n"
    assert ask(AUDIT, path="logs/audit.log", text=good).allowed
    assert ask(AUDIT, path="logs/other.log", text="x").allowed
    (violation,) = ask(AUDIT, path="logs/audit.log", text=good + "login ada\n").violations
    assert violation.matched == "logs/audit.log"
    assert violation.why == "line 4 lacks `request_id=`: login ada"


def test_a_content_that_nobody_knows_counts_against_it() -> None:
    verdict = ask(AUDIT, path="logs/audit.log")
    assert not verdict.allowed
    assert not verdict.violations[0].certain
    assert verdict.violations[0].why == "its content is not known"
    assert wants_text([AUDIT], Action(path="logs/audit.log"))
    assert not wants_text([AUDIT], Action(path="other.log"))
    assert not wants_text([AUDIT], Action(path="logs/audit.log", text=""))
    assert not wants_text([rule(subject="path", patterns=("*.log",))], Action(path="logs/audit.log"))


def test_what_a_path_must_not_and_must_contain() -> None:
    key = rule(subject="path", contains=("BEGIN PRIVATE KEY", r"/AKIA[0-9A-Z]{16}/"), unless=("tests/**",))
    (violation,) = ask(key, path="a.txt", text="x\nAKIA0123456789ABCDEF\n").violations
    assert violation.why == "it contains `/AKIA[0-9A-Z]{16}/` in line 2"
    assert ask(key, path="tests/a.txt", text="BEGIN PRIVATE KEY").allowed
    licence = rule("require", subject="path", patterns=("src/**",), contains=("SPDX-License-Identifier",))
    assert not ask(licence, path="src/a.py", text="import os").allowed
    assert ask(licence, path="src/a.py", text="# SPDX-License-Identifier: MIT").allowed


def test_the_arguments_of_a_tool() -> None:
    assert not ask(DATABASE, tool="sql", arguments={"database": "prod-eu", "query": "DELETE FROM x"}).allowed
    assert not ask(DATABASE, tool="mcp__db__run", arguments={"database": "prod", "query": "TRUNCATE x"}).allowed
    assert ask(DATABASE, tool="sql", arguments={"database": "dev", "query": "DELETE FROM x"}).allowed
    assert ask(DATABASE, tool="sql", arguments={"database": "prod", "query": "SELECT 1"}).allowed
    assert ask(DATABASE, tool="sql", arguments={}).allowed
    assert ask(DATABASE, tool="other", arguments={"database": "prod", "query": "DROP TABLE x"}).allowed


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("target.env", {"target": {"env": "prod"}}),
        ("target.env", {"target.env": "prod"}),
        ("targets.env", {"targets": [{"env": "dev"}, {"env": "prod"}]}),
        ("envs", {"envs": ["dev", "prod"]}),
    ],
)
def test_a_name_leads_into_objects_and_lists(name: str, arguments: dict[str, Any]) -> None:
    one = rule(subject="tool", where=(Argument(name=name, pattern="prod"),))
    assert not ask(one, tool="t", arguments=arguments).allowed


def test_values_that_are_no_text_are_taken_as_json() -> None:
    one = rule(subject="tool", where=(Argument(name="force", pattern="true"),))
    assert not ask(one, tool="t", arguments={"force": True}).allowed
    assert ask(one, tool="t", arguments={"force": False}).allowed


def test_a_text_of_a_sort() -> None:
    answers = rule(subject="text", patterns=("answer*",), contains=("password",))
    assert not ask(answers, text="the password is x", label="answer to a user").allowed
    assert ask(answers, text="the password is x", label="note").allowed
    assert ask(answers, text="the password is x").allowed
    assert not ask(rule(subject="text", contains=("password",)), text="the password is x").allowed


def test_a_warning_allows_and_advice_is_not_asked() -> None:
    verdict = ask(rule("warn", subject="path", patterns=("*.lock",)), path="uv.lock")
    assert verdict.allowed
    assert [one.rule for one in verdict.warnings] == ["r"]
    advice = ask(rule("advise", subject="path", patterns=("*.lock",)), path="uv.lock")
    assert advice.allowed
    assert advice.checked == 0
    assert not advice.warnings


@pytest.mark.parametrize("severity", ["deny", "require"])
def test_a_broken_rule_denies_what_it_is_about(severity: str) -> None:
    broken = rule(severity, subject="path", patterns=("docs/**",), broken="`(?=`: look-around is not possible")
    verdict = ask(broken, path="anything.txt")
    assert not verdict.allowed
    assert not verdict.violations[0].certain
    assert "look-around" in (verdict.violations[0].why or "")
    assert ask(broken, tool="other").allowed
    assert ask(rule("warn", broken="?", subject="path"), path="x").allowed


def test_a_pattern_that_turns_out_to_be_none_is_a_broken_rule() -> None:
    verdict = ask(rule(subject="path", patterns=("/(/",)), path="x")
    assert not verdict.allowed
    assert "a bracket is not closed" in (verdict.violations[0].why or "")


def test_a_rule_of_which_nobody_knows_what_it_is_about_denies_all_but_its_repair() -> None:
    broken = rule(broken="unknown key `comand`")
    assert not ask(broken, path="x").allowed
    assert not ask(broken, tool="x").allowed
    assert not ask(broken, commit_message="feat: x").allowed
    assert ask(broken, path=AT.path, text="better").allowed


def test_one_broken_rule_leaves_the_others_alone() -> None:
    verdict = judge(
        [rule(id="a", subject="path", patterns=("/(/",)), CONVENTIONAL], Action(commit_message="feat: good")
    )
    assert verdict.allowed
    assert verdict.checked == 1
