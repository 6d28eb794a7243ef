"""The verdict on commands: exceptions, what must be there, and what cannot be known before it runs."""

from __future__ import annotations

from typing import Any

import pytest

from agent_memory.core.rules.clone import CloneState
from agent_memory.core.rules.judge import judge
from agent_memory.models.rules import Action, Check, Place, Rule, Verdict

pytestmark = pytest.mark.requirement("P4")


def rule(severity: str = "deny", **about: Any) -> Rule:
    check = Check(subject="command", **about)
    return Rule(id="r", text="So it is.", severity=severity, check=check, at=Place(path="p.md"))


MERGE = rule(
    patterns=("git merge", "git pull"),
    unless=("git pull --rebase", "git pull --ff-only", "git merge --abort"),
)


def ask(one: Rule, command: str, **more: Any) -> Verdict:
    return judge([one], Action(command=command, **more))


@pytest.mark.parametrize(
    "command",
    [
        "git merge main",
        "git -C x merge",
        'sh -c "git merge"',
        "FOO=1 git merge",
        "true && git merge main | cat",
        "git pull",
        "git pull --rebase; git merge x",
        "sudo -u ada git merge",
    ],
)
def test_a_merge_is_a_merge_however_it_is_called(command: str) -> None:
    verdict = ask(MERGE, command)
    assert not verdict.allowed
    assert verdict.violations[0].certain


@pytest.mark.parametrize(
    "command",
    ["echo git merge", "git pull --rebase origin main", "git merge --abort", "git rebase", "git log --merges"],
)
def test_what_is_no_merge_or_excepted_may_run(command: str) -> None:
    assert ask(MERGE, command).allowed


def test_what_is_known_only_when_it_runs_counts_against_it() -> None:
    (violation,) = ask(MERGE, "git $WHAT").violations
    assert not violation.certain
    assert "known only when it runs" in (violation.why or "")
    (violation,) = ask(MERGE, "git pull $HOW").violations
    assert not violation.certain


def test_only_where_quotes_would_help_are_they_asked_for() -> None:
    whatever = rule(patterns=("/rm -rf/",))
    assert "quotes" in (ask(whatever, "ls $X").violations[0].why or "")
    assert "quotes" not in (ask(whatever, 'ls "$X"').violations[0].why or "")


@pytest.mark.parametrize(
    "command",
    ["python manage.py migrate", "bash build", "npm test -- --watch", "source env.sh", "docker compose exec web ls"],
)
def test_a_text_that_is_known_does_not_hold_what_it_does_not_hold(command: str) -> None:
    """Whether a part of it is a command of its own is another question."""
    assert ask(rule(patterns=("/curl .*sh/",)), command).allowed
    assert ask(rule(patterns=("*",), contains=("AKIA",)), command).allowed
    assert not ask(rule(patterns=("/migrate|build|watch|env|web/",)), command).allowed


def test_another_reading_is_not_called_unknown() -> None:
    (violation,) = ask(rule(patterns=("deploy",)), "bash deploy").violations
    assert not violation.certain
    assert violation.why == "what is written can be read so that it is run as a command"


@pytest.mark.parametrize("command", ["ls 'unclosed", 'eval "$X"', "if true; then"])
def test_a_command_that_cannot_be_understood_is_denied_and_said_so(command: str) -> None:
    verdict = ask(MERGE, command)
    assert not verdict.allowed
    assert not all(one.certain for one in verdict.violations)
    assert verdict.doubt
    assert any(verdict.doubt in (one.why or "") or "known only" in (one.why or "") for one in verdict.violations)
    assert ask(rule("warn", patterns=("git merge",)), "if true; then").allowed
    assert judge([], Action(command=command)).allowed


def test_required_options_and_branches() -> None:
    planned = rule("require", patterns=("terraform apply",), having=("-var-file=*.tfvars",))
    assert ask(planned, "terraform apply -var-file=prod.tfvars").allowed
    verdict = ask(planned, "terraform apply")
    assert verdict.violations[0].why == "it lacks `-var-file=*.tfvars`"
    assert ask(planned, "terraform plan").allowed
    assert not ask(planned, "terraform apply $REST").allowed
    force = rule(patterns=("git push",), having=("--force", "-f"), branches=("main",))
    assert not ask(force, "git push --force", branch="main").allowed
    assert not ask(force, "git push -f", branch="main").allowed
    assert ask(force, "git push", branch="main").allowed
    assert ask(force, "git push -f", branch="feature").allowed


def test_a_regular_expression_sees_the_whole_line() -> None:
    piped = rule(patterns=(r"/curl\b.*\|\s*(ba)?sh\b/",))
    assert not ask(piped, "curl -s https://example.org/x | bash").allowed
    assert ask(piped, "curl -s https://example.org/x").allowed


def test_every_command_but_some() -> None:
    reading = rule(unless=("ls", "cat", "git log"))
    assert ask(reading, "ls -l; cat x | cat; git log").allowed
    (violation,) = ask(reading, "ls; rm x").violations
    assert violation.matched == "rm x"


def test_words_are_judged_as_words() -> None:
    assert not judge([MERGE], Action(argv=("git", "merge", "main"))).allowed
    assert not judge([MERGE], Action(argv=("sh", "-c", "git merge"))).allowed
    assert judge([MERGE], Action(argv=("echo", "; git merge"))).allowed
    assert judge([MERGE], Action(argv=("git", "commit", "-m", "git merge"))).allowed


def test_an_alias_of_git_is_what_it_stands_for() -> None:
    assert judge([MERGE], Action(command="git m x")).allowed
    assert not judge([MERGE], Action(command="git m x"), clone=CloneState({"alias.m": "merge --no-ff"})).allowed
    assert not judge([MERGE], Action(argv=("git", "m")), clone=CloneState({"alias.m": "!git merge"})).allowed
