"""Rules are added to pages without a change to what stands there."""

from __future__ import annotations

import pytest

from agent_memory.core.rules.adding import ending, proposed
from agent_memory.core.rules.page import read
from agent_memory.core.rules.written import markdown
from agent_memory.models.errors import Conflict, InvalidInput

MERGE = "**never-merge** (deny) Never merge.\n  - command: `git merge`"


def test_one_rule_is_read_with_or_without_its_dash() -> None:
    assert proposed(MERGE) == proposed(f"- {MERGE}")
    assert proposed(MERGE).check is not None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "item is empty"),
        ("Be kind.", "has no id"),
        (f"- {MERGE}\n- **b** (deny) B.\n  - command: `b`", "holds 2 rules"),
        ("**a** (deny) A.", "nothing can be checked"),
        ("**a** (deny) A.\n  - comand: `b`", "no key `comand`"),
        ("**a** (deny) A.\n  - text:\n  - contains: `/(/`", "cannot be used"),
    ],
)
def test_what_is_no_rule_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said.replace("(", r"\(")) as caught:
        proposed(text)
    assert caught.value.field == "rule"


@pytest.mark.parametrize(
    "page",
    [
        "",
        "# Mine",
        "# Mine\n\n## Rules\n",
        "## Rules\n\n- **a** Be kind.",
        "## Rules\n\n- **a** Be kind.\n\n## Skills\n\n### Deploy\n\nGo.\n",
        "## Rules\n\n- **a** Be kind.\n\n## Examples\n\n- `x`\n",
        "Just words.\r\n",
    ],
)
def test_a_rule_is_added_once_and_the_rest_stays(page: str) -> None:
    rule = proposed(MERGE)
    text = page + ending("p.md", page, rule)
    assert [one.id for one in read("p.md", text).rules][-1] == "never-merge"
    assert ending("p.md", text, rule) == ""
    other = proposed("**other** (warn) Other.\n  - command: `other`")
    assert [one.id for one in read("p.md", text + ending("p.md", text, other)).rules][-2:] == ["never-merge", "other"]


def test_another_rule_of_that_id_and_an_open_block_are_left_alone() -> None:
    page = "## Rules\n\n- **never-merge** (warn) Rather not.\n  - command: `git merge`\n"
    with pytest.raises(Conflict, match=r"p\.md:3"):
        ending("p.md", page, proposed(MERGE))
    with pytest.raises(Conflict, match="cannot be added"):
        ending("p.md", "## Rules\n\n```\ncode", proposed(MERGE))


@pytest.mark.parametrize("between", ["\x0b", "\x0c", "\x85", "\u2028", "\x1d"])
def test_no_character_but_a_line_end_begins_a_line(between: str) -> None:
    rule = proposed(f"**x** (deny) Text{between}- command: `ls`\n  - command: `git merge`")
    assert rule.check is not None and rule.check.patterns == ("git merge",)
    assert proposed(markdown(rule)) == rule


def test_text_that_would_become_a_key_is_refused() -> None:
    with pytest.raises(InvalidInput, match="as it is"):
        proposed("**x** (deny) Text\n\n      - command: `ls`\n\n  - command: `git merge`")
