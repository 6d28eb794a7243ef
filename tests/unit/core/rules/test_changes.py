"""Two states of the pages are compared by what their rules say."""

from __future__ import annotations

from typing import Any

from agent_memory.core.rules.changes import changes
from agent_memory.models.rules import Place, Rule


def rule(id: str, text: str = "text", line: int = 1, **fields: Any) -> Rule:
    return Rule(id=id, text=text, at=Place(path="a.md", line=line), **fields)


def told(before: list[Rule], after: list[Rule]) -> list[tuple[str, str, list[str]]]:
    return [(one.change, one.rule, one.fields) for one in changes(before, after)]


def test_rules_come_go_and_change() -> None:
    before = [rule("goes"), rule("stays"), rule("other", severity="deny", because="x")]
    after = [rule("stays"), rule("other", "new text", severity="warn", because="x"), rule("comes")]
    assert told(before, after) == [
        ("added", "comes", []),
        ("removed", "goes", []),
        ("changed", "other", ["text", "severity"]),
    ]
    found = changes(before, after)
    assert (found[0].before, found[0].after) == (None, after[2])
    assert (found[1].before, found[1].after) == (before[0], None)
    assert (found[2].before, found[2].after) == (before[2], after[1])


def test_where_a_rule_stands_does_not_count() -> None:
    moved = Rule(id="a", text="text", at=Place(path="b.md", line=9, commit="c", dirty=True))
    assert changes([rule("a"), rule("b", line=3)], [rule("b", line=1), moved]) == []


def test_an_id_that_was_given_twice() -> None:
    one, two, three = rule("a", "one"), rule("a", "two"), rule("a", "three")
    assert told([one, two], [two, one]) == []
    assert told([one, two], [two]) == [("removed", "a", [])]
    assert told([one, two], [two, three]) == [("changed", "a", ["text"])]
    assert told([one], [two, three]) == [("changed", "a", ["text"]), ("added", "a", [])]
