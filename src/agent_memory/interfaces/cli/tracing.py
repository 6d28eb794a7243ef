"""A trace as people read it: the first few of everything. `--json` gives all of it."""

from __future__ import annotations

from typing import Any

from agent_memory.interfaces.cli.blocks import Block, Card, Column, Note, Sentence, Table
from agent_memory.models.trace import Trace

FEW = 5  # candidates of a channel
SOME = 10  # of those that were left out
REASONS = {
    "k": "beyond k",
    "min_relevance": "below min_relevance",
    "per_conversation": "too many of one conversation",
    "repeat": "saying what a hit says",
}
CLOCKS = {"recorded": "not known then, or replaced", "valid": "not true then"}


def trace(one: Trace) -> list[Block]:
    """What each channel put first, what was left out, and what was not visible at all."""
    return [*_channels(one), *_left_out(one), *_hidden(one)]


def read(body: dict[str, Any] | None) -> list[Block]:
    """The same, of a receipt."""
    return [] if body is None else trace(Trace(**body))


def _channels(one: Trace) -> list[Block]:
    columns = (
        Column("channel", style="magenta"),
        Column("added", right=True, label=True),
        Column("place", right=True, label=True),
        Column("id", style="cyan"),
    )
    rows: list[tuple[object, ...]] = [
        (name, f"{found.value:.3f}", found.place, found.id)
        for name, candidates in one.channels.items()
        for found in candidates[:FEW]
    ]
    more = any(len(candidates) > FEW for candidates in one.channels.values())
    return [
        Sentence("\nwhat each channel put first", "bold"),
        Table(columns, rows),
        *([Note(f"the first {FEW} of each; --json gives more")] if more else []),
    ]


def _left_out(one: Trace) -> list[Block]:
    if not one.reasons:
        return []
    counted = ", ".join(f"{count} {REASONS.get(reason, reason)}" for reason, count in one.reasons.items())
    columns = (
        Column("place", right=True, label=True),
        Column("score", right=True, style="green", label=True),
        Column("relevance", right=True, label=True),
        Column("reason"),
        Column("id", style="cyan"),
    )
    rows: list[tuple[object, ...]] = [
        (found.place, f"{found.score:.2f}", f"{found.relevance:.2f}", REASONS.get(found.reason, found.reason), found.id)
        for found in one.left_out[:SOME]
    ]
    return [Sentence(f"\nleft out: {counted}", "bold"), Table(columns, rows)]


def _hidden(one: Trace) -> list[Block]:
    if not one.hidden:
        return []
    counted: list[tuple[str, object]] = [
        (CLOCKS.get(reason, f"filtered by {reason}"), count) for reason, count in one.hidden.items()
    ]
    return [Sentence("\nversions that were not candidates", "bold"), Card(counted)]
