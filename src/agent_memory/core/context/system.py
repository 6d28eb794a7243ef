"""What is so right now, in a few lines: critical events, errors and warnings, tasks under way, metrics. T1, T5."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent_memory.core.context.assemble import Offer
from agent_memory.core.context.render import Item
from agent_memory.core.context.tokens import Counter
from agent_memory.core.experience.ring import RingPresent
from agent_memory.models.kinds.operational import Event, event_line

MOST_CRITICAL, MOST_OTHERS = 5, 10


def snapshot(present: RingPresent, critical: Sequence[Event], limit: int, count: Counter) -> str:
    """Within `limit` tokens. Lines come in the order of how much they are needed; the last one says how many do not
    fit."""
    lines = list(_lines(present, critical))
    kept = len(lines)
    while kept and count(text := _text(lines, kept)) > limit:
        kept -= 1
    return text if kept else ""


def candidate(text: str, critical: Sequence[Event]) -> Offer:
    """First in its tier, if it fits; the events that it shows need no place of their own."""
    shown = set(text.splitlines())
    covers = frozenset(one.id for one in critical if one.id and _event(one) in shown)
    return Offer(Item("operational", text), value=1.0, relevance=1.0, must=True, floor=False, covers=covers)


def _text(lines: list[str], kept: int) -> str:
    left = len(lines) - kept
    return "\n".join([*lines[:kept], *([f"… and {left} more"] if left else [])])


def _lines(present: RingPresent, critical: Sequence[Event]) -> Iterator[str]:
    yield from map(_event, critical[:MOST_CRITICAL])
    worst = [one for one in present.events if one.severity in ("error", "warning") and not one.critical]
    yield from map(_event, worst[:MOST_OTHERS])
    for one in present.tasks:
        yield _flat(f"task {one['name']}: {one['state']}" + (f", {one['description']}" if one["description"] else ""))
    for one in present.metrics:
        yield _flat(f"{one['key']} = {one['value']:g}")


def _event(event: Event) -> str:
    return _flat(f"{event.time:%Y-%m-%d %H:%M:%S} {event.severity}: {event_line(event.category, event.payload)}")


def _flat(text: str) -> str:
    return " ".join(text.split())
