"""What pages say is what is judged: the template, the guide's pages and this project's own rules work. P1, P5, P18."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_memory.core.rules.judge import judge
from agent_memory.core.rules.page import read
from agent_memory.core.rules.template import PROCEDURAL
from agent_memory.models.rules import Action

ROOT = Path(__file__).parents[4]
OWN = ".memory/procedural.md"
GUIDE = re.findall(r"^```markdown\n(.*?)^```", (ROOT / "docs/guides/procedures.md").read_text("utf-8"), re.S | re.M)
FIRST, SRE, HOBBY = GUIDE[:3]


def broken(page: str, **action: Any) -> list[str]:
    verdict = judge(read(OWN, page).rules, Action(**action))
    return [one.rule for one in (*verdict.violations, *verdict.warnings)]


CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    (PROCEDURAL, {"command": "git push -f origin main"}, ["no-force-push"]),
    (PROCEDURAL, {"command": "git push --force"}, ["no-force-push"]),
    (PROCEDURAL, {"command": "git push --force-with-lease"}, []),
    (PROCEDURAL, {"command": "git push origin main"}, []),
    (PROCEDURAL, {"path": "a/b.py", "text": "x\n<<<<<<< HEAD\ny\n"}, ["no-conflict-marks"]),
    (PROCEDURAL, {"path": "b.md", "text": "x\n======= \n"}, []),
    (PROCEDURAL, {"commit_message": "Keep drafts for a week\n\nWhy."}, []),
    (PROCEDURAL, {"commit_message": "x" * 72}, []),
    (PROCEDURAL, {"commit_message": "x" * 73 + "\n\nWhy."}, ["short-subject"]),
    (PROCEDURAL, {"commit_message": "\nx"}, ["short-subject"]),
    (FIRST, {"command": "git merge main"}, ["never-merge"]),
    (FIRST, {"command": "git pull --rebase"}, []),
    (FIRST, {"commit_message": "feat(auth): let sessions end after a day"}, []),
    (FIRST, {"commit_message": "stuff"}, ["conventional-commits"]),
    (SRE, {"path": "logs/audit-1.log", "text": "request_id=1 a\nb\n"}, ["audit-request-id"]),
    (SRE, {"path": "logs/audit-1.log", "text": "request_id=1 a\nrequest_id=2 b\n"}, []),
    (SRE, {"command": "kubectl delete pod web --context prod-eu"}, ["no-prod-delete"]),
    (SRE, {"command": "kubectl -n prod delete pod web"}, ["no-prod-delete"]),
    (SRE, {"command": "kubectl delete pod web -n staging"}, []),
    (SRE, {"tool": "mcp__db__run", "arguments": {"database": "prod1", "query": "DROP table a"}}, ["prod-database"]),
    (SRE, {"tool": "mcp__db__run", "arguments": {"database": "test", "query": "DROP table a"}}, []),
    (SRE, {"tool": "sql", "arguments": {"database": "prod", "query": "select 1"}}, []),
    (SRE, {"command": "terraform apply"}, ["no-apply-by-hand"]),
    (SRE, {"path": "logs/app.log", "text": "AKIAABCDEFGHIJKLMNOP"}, ["no-secrets-in-logs"]),
    (SRE, {"commit_message": "x", "branch": "main"}, ["main-is-protected"]),
    (SRE, {"commit_message": "x", "branch": "change"}, []),
    (HOBBY, {"path": "tests/test_a.py", "text": "x = 1\n"}, ["tests-have-names"]),
    (HOBBY, {"path": "src/a/b.py", "text": "def f():\n    print(1)\n"}, ["no-print"]),
    (HOBBY, {"path": "src/a/b.py", "text": "log.info(1)\n"}, []),
]


@pytest.mark.requirement("P1", "P5")
@pytest.mark.parametrize(
    ("page", "action", "wanted"), CASES, ids=[f"{next(iter(case[1].values()))[:30]}" for case in CASES]
)
def test_rules_of_pages_do_what_they_say(page: str, action: dict[str, Any], wanted: list[str]) -> None:
    assert broken(page, **action) == wanted


@pytest.mark.requirement("P5")
@pytest.mark.parametrize(
    ("item", "action"),
    [
        ("- **a** (deny) x\n  - comand: `git x`", {"command": "ls"}),
        ("- **a** (dney) x\n  - command: `git x`", {"command": "ls"}),
        ("- **a** (deny) x\n  - command: `--force`", {"command": "ls"}),
        ("- **a** (deny) x\n  - command: `git x && git y`", {"command": "ls"}),
        ("- **a** (require) x\n  - path: `/(?=a)/`\n  - contains: `b`", {"path": "c", "text": "b"}),
    ],
)
def test_a_rule_that_cannot_be_read_refuses_what_it_is_about(item: str, action: dict[str, Any]) -> None:
    page = read(OWN, f"# Rules\n\n{item}\n- **b** (deny) y\n  - tool: `t`\n")
    verdict = judge(page.rules, Action(**action), page.findings)
    assert not verdict.allowed and [one.rule for one in verdict.violations] == ["a"]
    assert verdict.violations[0].at.line == 3 and verdict.findings
    assert judge(page.rules, Action(tool="other")).allowed


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("unless: `!b`\n  - path: `a`", "begins with `!`"),
        ("unless: `--force`\n  - command: `git x`", "does not name a program"),
        ("command: `git x`\n  - with: `a | b`", "one command"),
        ("tool: `t`\n  - where: `a` = `/(?<=x)y/`", "look-around"),
    ],
)
def test_a_pattern_is_tried_as_what_it_would_match(keys: str, said: str) -> None:
    (finding,) = read(OWN, f"# Rules\n\n- **a** (deny) x\n  - {keys}\n").findings
    assert finding.code == "bad-pattern" and said in finding.message


@pytest.mark.requirement("P18")
def test_no_file_of_this_project_breaks_its_own_rules() -> None:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True).stdout.split("\0")
    if names == [""]:
        names = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "src").rglob("*.py"))]
    rules = read(OWN, (ROOT / OWN).read_text("utf-8")).rules
    broken = []
    for name in filter(None, names):
        try:
            text = (ROOT / name).read_text("utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        verdict = judge(rules, Action(path=name, text=text))
        broken += [f"{name}: {one.rule}" for one in verdict.violations]
    assert broken == []
    bad = Action(path="src/agent_memory/models/x.py", text="from agent_memory.app import config\n")
    assert [one.rule for one in judge(rules, bad).violations] == ["imports-one-way"]
