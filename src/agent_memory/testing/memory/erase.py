"""Erasing: no row refers to the record any more, and its journal lines say only that it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection

from agent_memory.models.record import SHARED, Scope
from agent_memory.ports.changes import DERIVING
from agent_memory.ports.vectors import belongs, sees
from agent_memory.ports.working import Desk
from agent_memory.testing.memory.world import ERASE, Slip, ToyRecord, ToySignature, ToyWorld, Worlds


def erase(world: ToyWorld, by: ToySignature, entry: ToyRecord) -> None:
    bodies = {one.number: one for one in world.bodies.values() if one.record == entry.number}
    world.versions = {seq: one for seq, one in world.versions.items() if one.record != entry.number}
    world.bodies = {number: one for number, one in world.bodies.items() if number not in bodies}
    world.vectors = {place: one for place, one in world.vectors.items() if place[1] not in bodies}
    world.pending = {place: one for place, one in world.pending.items() if place[1] not in bodies}
    world.edges = {seq: one for seq, one in world.edges.items() if entry.number not in (one.source, one.target)}
    world.accesses.pop(entry.number, None)
    said = [set(body.terms) for body in bodies.values()]
    world.receipts = {
        id: slip
        for id, slip in world.receipts.items()
        if entry.number not in slip.told and not (_reads(slip.scope, entry) and _asked(slip, said))
    }
    clear_desks(world, entry.scope, [entry.id])
    clear_namespaces(world, entry.scope, [entry.id])
    for (scope, key), answer in world.answers.items():
        if answer and _reads(scope, entry) and any(outcome.id == entry.id for outcome in answer[1].outcomes):
            world.answers[scope, key] = None
    del world.entries[entry.number]
    world.note(by, ERASE, entry.scope, entry, hashlib.sha256(entry.id.encode()).digest())
    for name in world.places:
        _, since = world.debts.get((name, entry.scope, entry.id), (0, world.lines[-1].at))
        world.debts[name, entry.scope, entry.id] = (world.seq, since)


def clear_desks(world: ToyWorld, scope: Scope, ids: Collection[str]) -> None:
    """What pictures these records, on the desks of whoever sees their scope."""

    def is_one(desk: Desk, text: str) -> bool:
        value = json.loads(text)
        return scope in desk.scope.readable() and isinstance(value, dict) and value.get("id") in ids

    world.values = {place: one for place, one in world.values.items() if not is_one(place[0], one[0])}
    world.lists = {
        place: tuple(item for item in items if not is_one(place[0], item[0])) for place, items in world.lists.items()
    }


def clear_namespaces(world: ToyWorld, scope: Scope, ids: Collection[str]) -> None:
    """In place: they are the store's."""
    for place in [place for place in world.namespaces if place[1] in ids and sees(place[0], scope)]:
        del world.namespaces[place]
        world.scores.pop(place, None)
    miss_again(world, [one for one in world.missed if one[2] in ids and sees(one[1], scope)])


def clear_tenant(worlds: Worlds, tenant: str) -> None:
    """All its vectors."""
    worlds.namespaces = {place: one for place, one in worlds.namespaces.items() if not belongs(place[0], tenant)}
    worlds.scores = {place: one for place, one in worlds.scores.items() if place in worlds.namespaces}
    miss_again(worlds, [one for one in worlds.missed if belongs(one[1], tenant)])


def miss_again(world: ToyWorld | Worlds, rows: Collection[tuple[str, str, str]]) -> None:
    """What has changed again since somebody may have begun to tell it."""
    for row in rows:
        world.missed[row] = max(world.missed.values(), default=0) + 1


def derived(world: ToyWorld, entry: ToyRecord, user: str, retelling: Collection[str]) -> list[ToyRecord]:
    """What was derived from a record alone, or retells it: found again and again, until nothing more goes with it."""
    edges = [one for one in world.edges.values() if one.type in DERIVING and one.source != one.target]
    gone = {entry.number}
    while True:
        more = {
            one.number
            for one in world.entries.values()
            if one.number not in gone
            and user in (SHARED, one.scope.user)
            and any(edge.source == one.number and edge.target in gone for edge in edges)
            and (
                one.kind in retelling
                or all(edge.target in gone for edge in edges if edge.source == one.number and edge.ended is None)
            )
        }
        if not more:
            return [world.entries[number] for number in sorted(gone - {entry.number})]
        gone |= more


def _reads(reader: Scope, entry: ToyRecord) -> bool:
    return entry.scope in reader.readable()


def _asked(slip: Slip, said: list[set[int]]) -> bool:
    """Whether a query has at least half of its words in one of the contents."""
    return any(2 * len(asked & words) >= len(asked) for asked in slip.terms for words in said)
