"""What may go into a context: records as candidates, and the desk as a snapshot."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from agent_memory.core.context.assemble import PREFERENCES, Offer
from agent_memory.core.context.render import RULES, UNTRUSTED, Item
from agent_memory.core.context.tokens import Counter
from agent_memory.core.rules import prompt
from agent_memory.core.rules.quoting import source
from agent_memory.core.working.desk import GOAL, THOUGHTS, TURNS
from agent_memory.models.answer import Hit
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.record import Record
from agent_memory.models.rules import Entry, Layer, Place, Quoted, Rule, Severity
from agent_memory.models.trust import Trust, trust_of

SNAPSHOT_TOKENS = 500
USER = "user"  # the tier of what is known about the user: it comes first
RECENT = 10
WORTH = {Severity.DENY: 1.0, Severity.REQUIRE: 1.0, Severity.WARN: 0.9, Severity.ADVISE: 0.8}


def hits(found: Sequence[Hit], kinds: Mapping[str, Kind]) -> list[Offer]:
    """Hits of one recall, best first; their value is their share of the best score."""
    best = max((hit.score for hit in found), default=0.0)
    candidates = []
    for hit in found:
        value = max(hit.score / best, 0.0) if best > 0 else 0.0
        one = _candidate(hit.record, kinds, value=value, relevance=hit.relevance)
        candidates.append(one._replace(item=one.item._replace(until=hit.held_until), repeats=tuple(hit.repeats)))
    return candidates


def with_goals(found: Sequence[Offer], active: Sequence[Record], kinds: Mapping[str, Kind]) -> list[Offer]:
    """Active goals say what the work is for: they count by their priority at least, however far from the task."""
    worth = {goal.id: goal.payload["priority"] / 10 for goal in active}
    known = [
        one._replace(value=max(one.value, worth.pop(one.item.id)), floor=False) if one.item.id in worth else one
        for one in found
    ]
    others = [
        _candidate(goal, kinds, value=worth[goal.id], relevance=0.0, floor=False) for goal in active if goal.id in worth
    ]
    return [*known, *others]


def rules(found: Sequence[Rule], repository: str) -> list[Offer]:
    """What is enforced comes first; then in the order of the pages, whatever the task."""
    return [
        Offer(
            Item(RULES, prompt.line(rule), rule.id, "rule", by=_page(rule.at, repository)),
            value=WORTH[rule.severity],
            relevance=1.0,
            floor=False,
        )
        for rule in found
    ]


def entries(found: Sequence[Entry], repository: str, kind: Kind) -> list[Offer]:
    """Skills, examples and guidance, each with the page it is from; how well they fit is not known yet."""
    return [_said(kind.tier, prompt.shown(one), one.id, _page(one.at, repository)) for one in found]


def quoted(found: Sequence[Quoted]) -> list[Offer]:
    """What pages say that are not trusted: named as what it is, and apart from what is one's own."""
    return [_said(UNTRUSTED, one.text, one.id, source(one.repository, one.page)) for one in found]


def fitted(found: Sequence[Offer], fits: Sequence[float]) -> list[Offer]:
    """The same, the best first."""
    told = (one._replace(value=fit, relevance=round(fit, 4)) for one, fit in zip(found, fits, strict=True))
    return sorted(told, key=lambda one: -one.value)


def _said(tier: str, text: str, id: str, by: str) -> Offer:
    return Offer(Item(tier, text, id, "procedure", by=by), value=0.0, relevance=0.0)


def _page(at: Place, repository: str) -> str:
    """The repository and the file. Where one keeps pages of one's own is nobody's business."""
    return f"your own {PurePath(at.path).name}" if at.layer == Layer.USER else f"{repository}, {at.path}"


def preferences(found: Sequence[Record]) -> list[Offer]:
    """In an order that does not depend on the task, so that a prompt begins with the same words every time."""
    return [
        Offer(
            Item(PREFERENCES, record.text, record.id),
            value=1.0,
            relevance=1.0,
            version=record.version,
            handle=record.seq,
            floor=False,
        )
        for record in sorted(found, key=lambda record: (record.kind != "preference", record.key or "", record.id))
    ]


def spared(desk: Mapping[str, Any], without: Collection[str]) -> dict[str, Any]:
    """The desk without turns that the prompt has already."""
    return {**desk, TURNS: [turn for turn in desk[TURNS] if turn["id"] not in without]}


def snapshot(desk: Mapping[str, Any], limit: int, count: Counter) -> Offer | None:
    """The desk in a few lines: what is worked on, the values at hand, the last thoughts and turns. Within `limit`
    tokens, the least needed lines given up first."""
    goal = desk.get(GOAL)
    values = {key: value for key, value in desk.items() if key not in (GOAL, THOUGHTS, TURNS)}
    lines = [f"goal: {_flat(goal['description'])}"] if goal else []
    lines += [f"{_flat(key)}: {_flat(value)}" for key, value in values.items()]
    turns = {turn["id"]: f"{turn['role']}: {_flat(turn['content'])}" for turn in desk[TURNS][:RECENT]}
    thoughts = [f"thought: {_flat(one['thought'])}" for one in desk[THOUGHTS][:RECENT]]
    chosen: list[str] = []
    for line in (*lines, *_alternating(list(turns.values()), thoughts)):
        if count("\n".join([*chosen, line])) <= min(limit, SNAPSHOT_TOKENS):
            chosen.append(line)
    if not chosen:
        return None
    order = {line: place for place, line in enumerate([*lines, *reversed(thoughts), *reversed(turns.values())])}
    text = "\n".join(sorted(chosen, key=lambda line: order[line]))
    covers = frozenset(id for id, line in turns.items() if line in chosen)
    return Offer(Item("operational", text), value=1.0, relevance=1.0, must=True, floor=False, covers=covers)


def _candidate(
    record: Record, kinds: Mapping[str, Kind], *, value: float, relevance: float, floor: bool = True
) -> Offer:
    kind = kinds[record.kind]
    return Offer(
        Item(
            _tier(record, kind),
            kind.shown(record.text, record.payload),
            record.id,
            record.kind,
            record.valid_from,
            _by(record),
        ),
        value=value,
        relevance=relevance,
        version=record.version,
        handle=record.seq,
        conversation=record.conversation_id if record.kind == "turn" else None,
        floor=floor,
    )


def _tier(record: Record, kind: Kind) -> str:
    """What strangers wrote stands apart from what is one's own."""
    return UNTRUSTED if trust_of(record.source) in (Trust.WEB, Trust.AGENT) else kind.tier


def _by(record: Record) -> str:
    """Who says so, and how certain it is."""
    who = record.payload.get("speaker") or record.source
    return str(who) if record.confidence == 1 else f"{who} {record.confidence:.0%}"


def _flat(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def _alternating(first: list[str], second: list[str]) -> list[str]:
    longest = max(len(first), len(second))
    return [line for place in range(longest) for lines in (first, second) for line in lines[place : place + 1]]
