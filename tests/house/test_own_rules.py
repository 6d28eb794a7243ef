"""This project keeps its procedures in its own pages, and the pages in the guide are ones that work. P18."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent_memory.core.rules.keys import GIT_CONFIG, KEYS
from agent_memory.core.rules.page import read
from agent_memory.models.rules import Page

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/guides/procedures.md").read_text("utf-8")


def own() -> Page:
    return read(".memory/procedural.md", (ROOT / ".memory/procedural.md").read_text("utf-8"))


@pytest.mark.requirement("P18")
def test_our_own_procedures_have_no_findings() -> None:
    assert [str(one) for one in own().findings] == []


@pytest.mark.requirement("P18")
def test_our_own_rules_can_be_checked() -> None:
    page = own()
    assert len([rule for rule in page.rules if rule.check is not None and rule.severity == "deny"]) >= 5
    assert {entry.section for entry in page.entries} == {"skill", "example"}


@pytest.mark.parametrize("text", re.findall(r"^```markdown\n(.*?)^```", GUIDE, re.S | re.M))
def test_pages_in_the_guide_have_no_findings(text: str) -> None:
    page = read(".memory/procedural.md", text)
    assert page.rules and [str(one) for one in page.findings] == []


def test_the_guide_names_every_key_and_setting() -> None:
    assert [key for key in KEYS if f"\n| `{key}` |" not in GUIDE] == []
    assert [name for name in GIT_CONFIG.values() if f"`{name}`" not in GUIDE] == []
