"""What people see of procedures: the text itself in a pipe, words in colour at a terminal, the next step."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_memory.app import trust

PAGE = """\
## Rules

- **never-merge** (deny) Always rebase, never merge.
  - command: `git merge`
- **slowly** (warn) Not on a Friday.
  - command: `make deploy`

## Skills

### Deploy

`make release`
"""


@pytest.fixture(autouse=True)
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repo"
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / ".memory").mkdir()
    (folder / ".memory/procedural.md").write_text(PAGE)
    monkeypatch.chdir(folder)
    trust.trust(trust.TrustTarget(folder))
    return folder


def test_a_prompt_is_the_text_itself(here: Any, terminal: Any) -> None:
    text = here("rules", "prompt", "--task", "deploy", "--json").json["text"]
    assert here("rules", "prompt", "--task", "deploy").out == text
    assert "tokens: rules 2, skills, examples and texts 1" in terminal("rules", "prompt", "--task", "deploy").out


def test_skills_stand_beside_the_rules(here: Any) -> None:
    rows = [line.split("\t") for line in here("rules", "read").out.splitlines()]
    assert [row[:2] for row in rows[1:]] == [["never-merge", "deny"], ["slowly", "warn"], ["deploy", "skill"]]


def test_verdicts_are_coloured_at_a_terminal_only(here: Any, terminal: Any) -> None:
    for words in (["rules", "check"], ["guard"]):
        assert "\x1b[31mdenied\x1b[0m: Always rebase" in terminal(*words, "--", "git", "merge", "x").out
    assert "\x1b[33mwarning\x1b[0m: Not on" in terminal("rules", "check", "--", "make", "deploy").out
    assert "\x1b" not in terminal("rules", "check", "--", "git", "merge", "x", NO_COLOR="1").out
    assert here("rules", "check", "--", "git", "merge", "x").out.startswith("denied: Always rebase, never merge.\n")
    allowed = here("rules", "check", "--", "make", "deploy")
    assert allowed.out.startswith("allowed (") and allowed.err.startswith("warning: Not on a Friday.\n")


def test_a_proposal_says_where_it_stands(here: Any, repo: Path) -> None:
    rule = "**no-friday** (advise) No deploys on Fridays."
    assert here("rules", "propose", rule, "--reason", "an outage").out.startswith("proposed no-friday (")
    (row,) = here("rules", "proposals").out.splitlines()[1:]
    assert row.split("\t")[0] == "no-friday"
    assert row.split("\t")[4:] == ["an outage", "No deploys on Fridays."]
    page = repo / ".memory/procedural.md"
    approved = here("rules", "approve", "no-friday", "--into", "repository")
    assert approved.out == f"approved no-friday: it holds from now on, in {page}\n"
    again = here("rules", "approve", "no-friday")
    assert again.code == 3 and "no proposal 'no-friday' is waiting" in again.err and "rules proposals" in again.err
    here("rules", "propose", rule.replace("friday", "monday"))
    assert here("rules", "reject", "no-monday").out == "rejected no-monday\n"


def test_apply_says_what_holds_now(here: Any, repo: Path) -> None:
    here("prefer", "git", "merge style", "rebase")
    here("prefer", "git", "editor", "vim")
    said = dict(line.split(": ", 1) for line in here("rules", "apply", ".", "--dry-run").out.splitlines())
    assert said["clone"] == str(repo) and said["git config"] == "pull.rebase=true"
    assert said["left alone"].startswith("git: editor: ") and "commit-msg, " in said["hooks"]
