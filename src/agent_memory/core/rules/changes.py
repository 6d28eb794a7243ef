"""What differs between two states of the pages: rules that came, went or say something else. Where a rule stands does
not count, nor how it is wrapped. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

from agent_memory.models.rules import Rule, RuleChange

FIELDS = tuple(name for name in Rule.model_fields if name not in ("id", "at"))


def changes(before: Iterable[Rule], after: Iterable[Rule]) -> list[RuleChange]:
    """By id. Pages that stand side by side may give an id twice: then what is the same on both sides is no change."""
    old, new = _by_id(before), _by_id(after)
    found: list[RuleChange] = []
    for id in sorted({*old, *new}):
        was = [rule for rule in old.get(id, []) if _said(rule) not in map(_said, new.get(id, []))]
        now = [rule for rule in new.get(id, []) if _said(rule) not in map(_said, old.get(id, []))]
        found += [_change(id, *pair) for pair in zip_longest(was, now)]
    return found


def _change(id: str, before: Rule | None, after: Rule | None) -> RuleChange:
    if before is None or after is None:
        return RuleChange(change="added" if before is None else "removed", rule=id, before=before, after=after)
    fields = [name for name in FIELDS if getattr(before, name) != getattr(after, name)]
    return RuleChange(change="changed", rule=id, before=before, after=after, fields=fields)


def _by_id(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.id, []).append(rule)
    return found


def _said(rule: Rule) -> tuple[object, ...]:
    return tuple(getattr(rule, name) for name in FIELDS)
