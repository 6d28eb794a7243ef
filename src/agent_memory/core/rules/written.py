"""A rule as a page has it: the one form in which rules are written by us, and read back the same."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agent_memory.core.rules.text import CONVENTIONAL
from agent_memory.models.rules import Check, Rule, Severity, Subject

_TICKS = re.compile(r"`+")


def markdown(rule: Rule) -> str:
    """A list item, with its keys below it."""
    severity = "" if rule.severity == Severity.ADVISE else f" ({rule.severity})"
    head, *others = rule.text.split("\n")  # and nowhere else: what Markdown takes for text stays text
    lines = [f"- **{rule.id}**{severity} {head}", *others]
    lines += ["" for _ in others[:1]]  # so that the keys are a list of their own
    lines += [f"- {key}: {value}".rstrip() for key, value in _keys(rule)]
    return "\n  ".join(lines).replace("\n  \n", "\n\n").rstrip() + "\n"


def _keys(rule: Rule) -> Iterable[tuple[str, str]]:
    if rule.check is not None:
        yield from _check(rule.check)
    for key, said in (("because", rule.because), ("fix", rule.fix)):
        if said:
            yield key, said
    if rule.git_config:
        yield "git config", _spans(f"{key}={value}" for key, value in rule.git_config.items())


def _check(check: Check) -> Iterable[tuple[str, str]]:
    if check.subject == Subject.COMMIT:
        words = [one if one == CONVENTIONAL else span(one) for one in check.patterns]
        yield check.subject, ", ".join(words)
    else:
        yield check.subject, _spans(check.patterns)
    conditions = {
        "contains": check.contains,
        "every line": check.every_line,
        "with": check.having,
        "branch": check.branches,
        "unless": check.unless,
    }
    for key, patterns in conditions.items():
        if patterns:
            yield key, _spans(patterns)
    if check.where:
        yield "where", ", ".join(f"{span(one.name)} = {span(one.pattern)}" for one in check.where)


def _spans(texts: Iterable[str]) -> str:
    return ", ".join(span(text) for text in texts)


def span(text: str) -> str:
    """A code span that holds exactly this: its fence is longer than any run of backticks inside."""
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    apart = " " if text[:1] in ("`", " ") or text[-1:] in ("`", " ") else ""
    return f"{fence}{apart}{text}{apart}{fence}"
