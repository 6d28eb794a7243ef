"""Several pages: nearer wins, and nobody misses it."""

from __future__ import annotations

import pytest

from agent_memory.core.rules.judge import judge
from agent_memory.core.rules.merge import merged
from agent_memory.core.rules.page import Facts, read, unreadable
from agent_memory.models.rules import Action, Layer, Version

DENY = "## Rules\n\n- **never-merge** (deny) Never merge.\n  - command: `git merge`\n"
ADVISE = "## Rules\n\n- **never-merge** (advise) Rather not.\n"
MERGE = Action(command="git merge main")


def test_a_rule_that_is_loosened_nearby_is_told_with_every_verdict() -> None:
    pages = [read("/own/rules.md", DENY, Facts(Layer.USER)), read(".memory/procedural.md", ADVISE)]
    book = merged(pages, Version())
    assert [(one.id, one.severity) for one in book.rules] == [("never-merge", "advise")]
    verdict = judge(book.rules, MERGE, book.findings, book.version)
    assert verdict.allowed
    (said,) = verdict.findings
    assert (said.code, said.path, said.line) == ("loosened", ".memory/procedural.md", 3)
    assert "(deny) at /own/rules.md:3" in said.message


@pytest.mark.parametrize("nearer", [DENY, DENY.replace("(deny)", "(warn)", 1).replace("never-merge", "other")])
def test_a_rule_that_is_as_strict_or_another_is_not(nearer: str) -> None:
    pages = [read("/own/rules.md", DENY, Facts(Layer.USER)), read(".memory/procedural.md", nearer)]
    assert merged(pages, Version()).findings == []


@pytest.mark.requirement("P4")
def test_a_page_of_rules_that_cannot_be_read_denies_all_but_its_repair() -> None:
    book = merged([unreadable(".memory/procedural.md", "is not UTF-8")], Version())
    verdict = judge(book.rules, Action(command="ls"), book.findings, book.version)
    assert not verdict.allowed and "is not UTF-8" in (verdict.violations[0].why or "")
    assert judge(book.rules, Action(path=".memory/procedural.md"), book.findings, book.version).allowed
    for name in ("AGENTS.md", "CLAUDE.md", "skills/x/SKILL.md"):
        book = merged([unreadable(name, "is not UTF-8")], Version())
        verdict = judge(book.rules, Action(command="ls"), book.findings, book.version)
        assert verdict.allowed and verdict.findings
