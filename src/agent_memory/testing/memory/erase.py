"""Erasing: no row refers to the record any more, and its journal lines say only that it was."""

from __future__ import annotations

import hashlib
import json

from agent_memory.testing.memory.world import ERASE, Entry, Signature, World


def erase(world: World, by: Signature, entry: Entry) -> None:
    bodies = {one.number for one in world.bodies.values() if one.record == entry.number}
    world.versions = {seq: one for seq, one in world.versions.items() if one.record != entry.number}
    world.bodies = {number: one for number, one in world.bodies.items() if number not in bodies}
    world.vectors = {place: one for place, one in world.vectors.items() if place[1] not in bodies}
    world.pending = {place: one for place, one in world.pending.items() if place[1] not in bodies}
    world.edges = {seq: one for seq, one in world.edges.items() if entry.number not in (one.source, one.target)}
    world.receipts = {id: one for id, one in world.receipts.items() if entry.number not in one.shown}
    world.accesses.pop(entry.number, None)
    world.values = {
        place: one for place, one in world.values.items() if not (place[0].scope == entry.scope and _is(one[0], entry))
    }
    world.lists = {
        place: tuple(item for item in items if not (place[0].scope == entry.scope and _is(item[0], entry)))
        for place, items in world.lists.items()
    }
    del world.entries[entry.number]
    world.note(by, ERASE, entry.scope, entry, hashlib.sha256(entry.id.encode()).digest())


def _is(text: str, entry: Entry) -> bool:
    """Whether something in the working set is a picture of this record."""
    value = json.loads(text)
    return isinstance(value, dict) and value.get("id") == entry.id
