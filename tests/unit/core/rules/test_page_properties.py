"""What holds for any page at all: it is read, places are right, and a repair changes no meaning. P1."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent_memory.core.rules.fix import fixed
from agent_memory.core.rules.page import read
from agent_memory.models.rules import Page

PATHS = st.sampled_from([".memory/procedural.md", "AGENTS.md", "skills/deploy/SKILL.md", ".memory/team/x.md"])
PIECES = st.sampled_from(
    [
        *("# Rules\n", "## rules\n\n", "Rules\n===\n", "## Skills\n", "### Deploy\n", "## Examples\n", "## Ruls\n"),
        *("- ", "* ", "1. ", "  - ", "    - ", "\t- ", "> - ", "- - ", "\n", "\n\n", "\r\n", "\r", "  \n", "\t"),
        *(
            "**never-merge**",
            "**Never merge**",
            "__a__",
            "**a:**",
            "(deny)",
            "(Deny)",
            "(dney)",
            "(require)",
            "(see x)",
        ),
        *("command: ", "Commands: ", "comand: ", "commit message:", "path:", "tool: ", "where: ", "unless: ", "with: "),
        *(
            "because: ",
            "fix: ",
            "git config: ",
            "every line: ",
            "contains: ",
            "branch: ",
            "text: ",
            "foo: ",
            "command ",
        ),
        *(
            "`git merge`",
            "`a`, `b`",
            "`/a(/`",
            "`x` = `y`",
            "`x=y`",
            "`pull.rebase=true`",
            "``a`b``",
            "`",
            "conventional",
        ),
        *(
            "```\ncode\n```\n",
            "<!-- `x` -->",
            "<!--\n",
            "---\n",
            "---\nname: x\n---\n",
            "&amp;",
            "\\*",
            "|a|b|\n|-|-|\n",
        ),
        *("plain words", "Ünïcödé", "\u2028", "\x0c", "\ufeff", "\x00", ": ", ",", "*", "[ ] ", "é"),
    ]
)
MARKDOWN = st.lists(PIECES, max_size=40).map("".join)
ANY = st.one_of(MARKDOWN, st.text(max_size=300), st.text(st.characters(), max_size=100))


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n?|\n", text.removeprefix("\ufeff"))


def says(page: Page) -> list[object]:
    return [one.model_dump(exclude={"at"}) for one in (*page.rules, *page.entries)]


@pytest.mark.requirement("P1")
@settings(max_examples=400, deadline=None)
@given(path=PATHS, text=ANY)
@example(path="AGENTS.md", text="- **a** (deny)\n  - command: `\ud800`")
@example(path=".memory/a.md", text="---\na: !!python/object:os.system x\n---\n# Rules\n- x")
def test_any_text_is_read(path: str, text: str) -> None:
    page = read(path, text)
    lines = lines_of(text.encode("utf-8", "replace").decode())
    for finding in page.findings:
        assert 1 <= finding.line <= len(lines) and finding.column >= 1
    for rule in page.rules:
        assert 1 <= rule.at.line <= len(lines)
        assert lines[rule.at.line - 1].strip() or not rule.text.strip()
    ids = [rule.id for rule in page.rules]
    explicit = {rule.id for rule in page.rules if f"**{rule.id}" in text or f"__{rule.id}" in text}
    assert all(ids.count(id) == 1 for id in set(ids) - explicit)


@pytest.mark.requirement("P1")
@settings(max_examples=400, deadline=None)
@given(path=PATHS, text=ANY)
def test_a_repair_changes_no_meaning_and_is_done_once(path: str, text: str) -> None:
    new = fixed(path, text)
    assert says(read(path, new)) == says(read(path, text))
    assert fixed(path, new) == new
    before, after = (read(path, one).findings for one in (text, new))
    assert {one.code for one in after} <= {one.code for one in before}


WORDS = st.lists(st.sampled_from("never merge on main before a review".split()), min_size=1, max_size=6)
ITEM = st.tuples(st.sampled_from(["deny", "warn", "advise"]), WORDS.map(" ".join), st.booleans(), st.booleans())


@pytest.mark.requirement("P1")
@settings(max_examples=200, deadline=None)
@given(
    items=st.lists(ITEM, min_size=1, max_size=8),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    marker=st.sampled_from(["- ", "* ", "1. ", "10) "]),
    before=st.sampled_from(
        ["", "\ufeff", "---\nname: x\n---\n", "Title\n=====\n\n", "```\n- **x** (deny) no\n```\n\n"]
    ),
)
def test_rules_stand_where_they_are_said_to(
    items: list[tuple[str, str, bool, bool]], end: str, marker: str, before: str
) -> None:
    text, wanted = before + "## RULES\n\n", {}
    for number, (severity, words, loose, keyed) in enumerate(items):
        line = text.count("\n") + 1
        wanted[f"rule-{number}"] = (line, len(marker) + 1, severity, words)
        text += f"{marker}**rule-{number}** ({severity}): {words}\n"
        if keyed:
            text += f"{' ' * len(marker)}- command: `git x{number}`\n"
        text += "\n" if loose else ""
    found = {
        rule.id: (rule.at.line, rule.at.column, rule.severity, rule.text)
        for rule in read(".memory/a.md", text.replace("\n", end)).rules
    }
    assert found == wanted
