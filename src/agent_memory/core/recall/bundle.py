"""What is known that helps with a question, in groups: what `remember` gives. One gather, one receipt. C10."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent_memory.core.recall.fading import Fading
from agent_memory.core.recall.gather import Recalling
from agent_memory.core.recall.recall import answers
from agent_memory.core.recall.receipt import Question, together
from agent_memory.core.recall.standing import goals, person
from agent_memory.models.answer import Hit, Recalled
from agent_memory.models.bundle import MemoryBundle, RetrievalWeights
from agent_memory.models.decay import Decay
from agent_memory.models.kinds.experience import Strategy
from agent_memory.models.kinds.knowledge import Entity
from agent_memory.models.moment import to_micros
from agent_memory.models.recipe import DEFAULT
from agent_memory.models.record import Record
from agent_memory.ports.records import RecordStore, View

GROUPS = {"turn": "episodic", "fact": "semantic_facts", "entity": "semantic_entities", "strategy": "procedural"}
"""The kinds of a bundle, and what weighs each."""

Scored = list[tuple[Hit, float]]


def bundle(
    recalling: Recalling,
    records: RecordStore,
    question: Question,
    kinds: Sequence[str],
    scale: RetrievalWeights,
    fading: Fading,
) -> MemoryBundle:
    """`question.where` is the window of time in which each of these kinds is looked for."""
    view = question.view
    groups, damaged = _groups(recalling, question, [kind for kind in kinds if getattr(scale, GROUPS[kind])], scale)
    facts = groups.get("fact", [])
    named = facts_shown(records, view, [hit.record for hit, _ in facts], fading.decay)
    entities = groups.get("entity", [])
    read = fading.entities([hit.record for hit, _ in entities])
    return MemoryBundle(
        relevant_turns=[
            {**turn_shown(hit.record), "archived": hit.archived, "score": score, "repeats": len(hit.repeats)}
            for hit, score in groups.get("turn", ())
        ],
        facts=[
            {**shown, "held_until": _until(hit), "score": score, "repeats": len(hit.repeats)}
            for shown, (hit, score) in zip(named, facts, strict=True)
        ],
        entities=[_entity(one, score) for one, (_, score) in zip(read, entities, strict=True)],
        strategies=[_strategy(hit) for hit, _ in groups.get("strategy", ())],
        active_goals=[
            {"id": goal.id, "description": goal.description, "priority": goal.priority, "status": goal.status}
            for goal in goals(records, view, status="active")
        ],
        user_context=person(records, view, question.where.pages),
        damaged=damaged,
    )


def _groups(
    recalling: Recalling, question: Question, kinds: Sequence[str], scale: RetrievalWeights
) -> tuple[dict[str, Scored], int]:
    """Hits of each kind with their score in the bundle: the group's weight times the evidence, plus recency; and how
    many rows could not be read. The best score comes first, but of the past the version that held then."""
    if not kinds:
        return {}, 0
    worked = {"strategy": (("worked", True),)}
    where = [question.where._replace(kinds=(kind,), fields=worked.get(kind, ()), pages=None) for kind in kinds]
    found = answers(recalling, [question._replace(where=one) for one in where])
    recalling.receipts.add(together(found)[1])
    groups: dict[str, Scored] = {}
    for kind, (recalled, _) in zip(kinds, found, strict=True):
        weight = getattr(scale, GROUPS[kind])
        now = question.view.now
        scored = [(hit, round(weight * hit.score + scale.recency * _recency(hit, now), 6)) for hit in recalled]
        groups[kind] = scored if _of_the_past(recalled) else sorted(scored, key=lambda pair: -pair[1])
    return groups, max(recalled.damaged for recalled, _ in found)


def facts_shown(records: RecordStore, view: View, facts: Sequence[Record], decay: Decay) -> list[dict[str, Any]]:
    """Facts as searches and bundles give them; `entities` are the names of those that the reader may see."""
    about = {record.id: record.payload.get("entity_ids", []) for record in facts}
    wanted = sorted({id for ids in about.values() for id in ids})
    found = records.get(view, wanted) if wanted else []
    names = {one.id: one.payload["name"] for one in found if one.kind == "entity"}
    return [
        {
            "id": record.id,
            "claim": record.text,
            "confidence": decay.confidence(record),
            "stored_confidence": record.confidence,
            "source": record.source,
            "entities": [names[id] for id in about[record.id] if id in names],
            "entity_ids": about[record.id],
            "created_at": record.valid_from.isoformat(),
        }
        for record in facts
    ]


def turn_shown(record: Record) -> dict[str, Any]:
    """A turn as searches and bundles give it."""
    return {
        "id": record.id,
        "content": record.text,
        "role": record.payload["role"],
        "timestamp": record.valid_from.isoformat(),
        "conversation_id": record.conversation_id,
    }


def _recency(hit: Hit, now: int) -> float:
    if hit.archived:
        return 0.0
    days = max(now - to_micros(hit.record.valid_from), 0) / 86_400_000_000
    return float(2 ** (-days / DEFAULT.half_life_days))


def _of_the_past(recalled: Recalled) -> bool:
    """Whether versions that are over are the answer: then what is recent is no better."""
    return bool(recalled.past) and any(hit.held_until for hit in recalled)


def _until(hit: Hit) -> str | None:
    return hit.held_until.isoformat() if hit.held_until else None


def _entity(entity: Entity, score: float) -> dict[str, Any]:
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "description": entity.description,
        "salience": entity.salience,
        "stored_salience": entity.stored_salience,
        "score": score,
    }


def _strategy(hit: Hit) -> dict[str, Any]:
    strategy = Strategy.of(hit.record)
    return {
        "description": strategy.description,
        "tool_sequence": strategy.tool_sequence,
        "success_rate": strategy.success_rate,
    }
