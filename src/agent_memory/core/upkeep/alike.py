"""Facts that say nearly the same as one that is written: about the same entities, and near in meaning. They may repeat
it, or contradict it; that is for whoever writes to see."""

from __future__ import annotations

from agent_memory.core.recall.reading import Reading
from agent_memory.core.upkeep.extract.names import named
from agent_memory.core.upkeep.extract.sentences import Mood, SaidSentence
from agent_memory.core.write.embed import Embedding
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.kinds.kind import fold
from agent_memory.models.record import Record, Status
from agent_memory.ports.index import Index, Probe
from agent_memory.ports.records import Filter, View

ALIKE = 0.73
"""Chosen by benchmarks/extraction/alike.py."""
NEAREST = 20
MOST = 5


def alike(index: Index, embedding: Embedding, view: View, fact: Record) -> list[str]:
    """The ids of those in force, the nearest first; none, where there is no embedder in reach."""
    try:
        if not embedding.agree(settle=False):
            return []
        vector = embedding.embed([fact.text])[0]
    except AgentMemoryError:
        return []
    reading = Reading(index, view)
    probe = Probe(reading.view, Filter(kinds=(fact.kind,)), NEAREST, vector=vector, space=embedding.space)
    (pool,) = reading.gather([probe])
    near = [
        (-float(similarity), handle)
        for similarity, handle in zip(pool.similarity.tolist(), pool.handles.tolist(), strict=True)
        if similarity >= ALIKE
    ]
    found = reading.hydrate([handle for _, handle in sorted(near)])
    own = about(fact)
    same = [one for one in found if one.id != fact.id and one.status is Status.ACTIVE and _same(own, about(one))]
    return [one.id for one in same][:MOST]


def about(fact: Record) -> frozenset[str]:
    """The entities of a fact: those it is linked with, its subject, and the names in it."""
    names = [one.name for one in named(SaidSentence(fact.text, 0, Mood.STATEMENT))]
    subject = fact.payload.get("subject")
    return frozenset([*fact.payload.get("entity_ids", ()), *map(fold, [*names, *([subject] if subject else [])])])


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    """As far as both name any: "we use Redis" is not about what "the wiki uses Redis" is about."""
    return one == other or (bool(one & other) and (one <= other or other <= one or len(one & other) >= 2))
