"""What was edited gets new embeddings in the namespaces that hold it. One that somebody made himself (of another model
than the namespace's embedder, or of none) is left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from agent_memory.core.upkeep.job import Did, JobTurn, Keeping, followed
from agent_memory.core.write.embed import BATCH, meanings
from agent_memory.ledger.journal import PUT
from agent_memory.models.record import Record, Scope
from agent_memory.ports.feed import FeedLine
from agent_memory.ports.records import View
from agent_memory.ports.vectors import PlacedVector, called, whose

JOB = "embeddings"


def embeddings(keeping: Keeping, turn: JobTurn) -> Did:
    """Follow the journals of all tenants. Whoever does it twice makes the same again."""
    done = 0
    for lines in followed(keeping, turn, JOB):
        done += sum(_renewed(keeping, turn, scope, ids) for scope, ids in _put(lines).items())
    if done:
        keeping.mirroring.tell_soon()
    return {"embeddings": done, "behind": behind(keeping)}


def behind(keeping: Keeping) -> int:
    """Lines that were not looked at yet."""
    return keeping.store.feed.behind(JOB)


def _put(lines: Iterable[FeedLine]) -> Mapping[Scope, list[str]]:
    found: dict[Scope, list[str]] = {}
    for line in lines:
        if line.operation == PUT and line.id is not None:
            found.setdefault(line.scope, []).append(line.id)
    return found


def _renewed(keeping: Keeping, turn: JobTurn, scope: Scope, ids: Sequence[str]) -> int:
    """How many embeddings were made again."""
    placed: dict[str, list[str]] = {}
    for one in keeping.store.vectors.places(scope, ids):
        if (
            keeping.embedder_of is not None
            and keeping.embedder_of(called(one.namespace)).space.fingerprint == one.model
        ):
            placed.setdefault(one.namespace, []).append(one.id)
    made = 0
    for namespace, held in placed.items():
        reader = whose(namespace)
        rest = iter(held if reader is not None else ())
        while reader is not None and (some := [*islice(rest, BATCH)]):
            made += _embedded(keeping, View(reader, turn.now), namespace, some)
    return made


def _embedded(keeping: Keeping, view: View, namespace: str, ids: Sequence[str]) -> int:
    """The model thinks long: what was forgotten, edited once more or taken out of the namespace meanwhile is left as it
    is."""
    assert keeping.embedder_of is not None
    mirror, embedder = keeping.store.vectors, keeping.embedder_of(called(namespace))
    edited = [one for one in keeping.store.records.get(view, ids) if one.version > 1]
    if not edited:
        return 0
    vectors = meanings(embedder, [one.text for one in edited])
    there = {one.id: one for one in _held(keeping, view, namespace, edited)}
    now = {one.id: one.version for one in keeping.store.records.get(view, [*there])}
    made = 0
    for record, vector in zip(edited, vectors, strict=True):
        if now.get(record.id) == record.version:
            mirror.upsert(namespace, record.id, vector, there[record.id].metadata, embedder.space.fingerprint)
            made += 1
    left = {one.id for one in keeping.store.records.get(view, [*there])}
    if gone := [id for id in there if id not in left]:
        mirror.delete(namespace, gone)
    return made


def _held(keeping: Keeping, view: View, namespace: str, records: Sequence[Record]) -> list[PlacedVector]:
    found = keeping.store.vectors.places(view.scope, [one.id for one in records])
    return [one for one in found if one.namespace == namespace]
