"""A verdict in words: which rule, where it stands, what is wrong and what to do instead."""

from __future__ import annotations

from collections.abc import Iterator

from agent_memory.interfaces.cli.blocks import Block, Sentence
from agent_memory.interfaces.cli.cleaning import cut, one_line
from agent_memory.models.rules import Severity, Verdict, Violation

MOST = 10  # violations that are spelled out
LONGEST = 500
STYLES = {"denied": "red", "warning": "yellow", "allowed": "green", "doubt": "yellow", "page": "red"}


def summary(verdict: Verdict) -> str:
    """One line: what it is, by how many rules of which state."""
    rules = f"{verdict.checked} rule{'' if verdict.checked == 1 else 's'} asked"
    version = verdict.version
    state = f"commit {version.commit[:10]}" if version.commit else f"version unknown: {version.why or 'nobody said'}"
    changed = ", with changes that are not committed" if version.commit and version.dirty else ""
    return f"{'allowed' if verdict.allowed else 'denied'} ({rules}; {state}{changed})"


def lines(verdict: Verdict) -> Iterator[str]:
    """Everything that a person or an agent must know, the worst first. What comes from pages or from the action is
    kept to its own line."""
    shown = [*verdict.violations, *verdict.warnings]
    for violation in shown[:MOST]:
        yield from _violation(violation)
    if len(shown) > MOST:
        yield f"… and {len(shown) - MOST} more"
    if verdict.doubt:
        yield f"doubt: {_line(verdict.doubt)}"
    for finding in verdict.findings[:MOST]:
        yield f"page: {_line(str(finding))}"


def blocks(verdict: Verdict) -> list[Block]:
    """The same for people, with its words in colour."""
    return [_coloured(line) for line in lines(verdict)]


def summed(verdict: Verdict) -> Block:
    return _coloured(summary(verdict))


def _coloured(line: str) -> Block:
    word = next((word for word in STYLES if line.startswith(word)), "")
    return Sentence(line.removeprefix(word), STYLES.get(word, ""), word) if word else Sentence(line)


def told(verdict: Verdict) -> str:
    return "\n".join(lines(verdict))


def _violation(one: Violation) -> Iterator[str]:
    word = "warning" if one.severity == Severity.WARN else "denied"
    yield f"{word}: {_line(one.text)}"
    yield f"  rule: {_line(one.rule)}, {_line(str(one.at))}"
    yield f"  by: {_line(one.matched)}"
    said = {"why": one.why, "because": one.because, "fix": one.fix}
    yield from (f"  {name}: {_line(value)}" for name, value in said.items() if value)
    if not one.certain:
        yield "  certain: no, but it may be so, and then it would be too late"


def _line(text: str) -> str:
    return cut(one_line(text), LONGEST)
