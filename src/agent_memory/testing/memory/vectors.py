"""Vectors in namespaces on plain dicts, and what places elsewhere have not been told of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agent_memory.ledger.quantise import directed, restored, unit
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import canonical_json
from agent_memory.models.record import Scope
from agent_memory.ports.feed import Work
from agent_memory.ports.vectors import (
    VECTORS,
    HeldVector,
    Lag,
    Match,
    Missed,
    PlacedVector,
    Scored,
    Settled,
    beginning,
    called,
    owner,
    sees,
)
from agent_memory.testing.memory.erase import clear_namespaces, clear_tenant, miss_again
from agent_memory.testing.memory.feed import go_on
from agent_memory.testing.memory.world import ToyRoom, Worlds


class MemoryVectors:
    """`go_on` checks and moves a piece of work."""

    def __init__(self, room: ToyRoom, go_on: Callable[[Any, Work], None] = go_on) -> None:
        self._room = room
        self._go_on = go_on

    def upsert(
        self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any], model: str | None = None
    ) -> None:
        scale, data = directed(unit(vector))
        text = canonical_json(dict(metadata), "metadata")
        with self._room.writing() as world:
            for (place, _), (_, other, _, known) in world.namespaces.items():
                if place == namespace:
                    _check(namespace, other, len(data))
                    if known != model:
                        raise InvalidInput(f"model: namespace {called(namespace)!r} holds {known!r}", field="model")
            world.namespaces[namespace, id] = (scale, data, text, model)
            _miss(world, namespace, [id])

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        import numpy as np

        query = unit(vector)
        found = []
        with self._room.reading() as world:
            for (place, id), (scale, data, text, _) in world.namespaces.items():
                if place != namespace:
                    continue
                _check(namespace, data, len(query))
                metadata = json.loads(text)
                if all(metadata.get(name) == value for name, value in (where or {}).items()):
                    score = float(np.frombuffer(data, np.int8).astype(np.float32) @ query) * scale
                    found.append(Match(id, score, metadata))
        return sorted(found, key=lambda match: (-match.score, match.id))[:k]

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        with self._room.writing() as world:
            gone = {id for id in ids if world.namespaces.pop((namespace, id), None) is not None}
            for id in gone:
                world.scores.pop((namespace, id), None)
            _miss(world, namespace, dict.fromkeys(ids))
            return len(gone)

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self._room.writing() as world:
            clear_namespaces(world.of(scope.tenant), scope, ids)

    def forget_tenant(self, tenant: str) -> None:
        with self._room.writing() as world:
            clear_tenant(world, tenant)

    def settled(self, namespace: str) -> tuple[int, str | None] | None:
        with self._room.reading() as world:
            found = (one for (name, _), one in world.namespaces.items() if name == namespace)
            return next(((len(data), model) for _, data, _, model in found), None)

    def namespaces(self, scope: Scope) -> list[Settled]:
        found: dict[str, Settled] = {}
        with self._room.reading() as world:
            for (name, _), (_, data, _, model) in sorted(world.namespaces.items()):
                if name.startswith(beginning(scope)):
                    before = found[name].vectors if name in found else 0
                    found[name] = Settled(name, model, len(data), before + 1)
        return [*found.values()]

    def held(self, scope: Scope, id: str) -> list[HeldVector]:
        with self._room.reading() as world:
            return [
                HeldVector(
                    *(name, model, restored(scale, data).tolist(), json.loads(text)),
                    *world.scores.get((name, id), (None, None)),
                )
                for (name, its), (scale, data, text, model) in sorted(world.namespaces.items())
                if its == id and name.startswith(beginning(scope))
            ]

    def places(self, scope: Scope, ids: Sequence[str]) -> list[PlacedVector]:
        with self._room.reading() as world:
            return [
                PlacedVector(name, id, model, json.loads(text))
                for (name, id), (_, _, text, model) in sorted(world.namespaces.items())
                if id in ids and sees(name, scope)
            ]

    def scored(self, scores: Sequence[Scored]) -> None:
        with self._room.writing() as world:
            for one in scores:
                if (one.namespace, one.id) in world.namespaces:
                    world.scores[one.namespace, one.id] = (one.score, one.at)

    def lags(self) -> list[Lag]:
        with self._room.reading() as world:
            counted = {name: sum(one[0] == name for one in world.missed) for name in sorted(world.places)}
            now = time.time_ns() // 1000
            return [Lag(name, many, now, world.places[name]) for name, many in counted.items() if many]

    def lags_in(self, place: str, namespace: str) -> bool:
        with self._room.reading() as world:
            owes = any(name == place and scope.tenant == owner(namespace) for name, scope, _ in world.debts)
            return owes or any(one[:2] == (place, namespace) for one in world.missed)

    def missed(self, place: str, after: int, limit: int) -> list[Missed]:
        found: list[Missed] = []
        with self._room.reading() as world:
            for (name, *key), number in sorted(world.missed.items(), key=lambda one: one[1]):
                if name != place or number <= after:
                    continue
                scale, data, text, _ = world.namespaces.get((key[0], key[1]), (0.0, b"", "{}", None))
                vector = restored(scale, data).tolist() if data else None
                found.append(Missed(key[0], key[1], number, vector, json.loads(text)))
        return found[:limit]

    def told(self, place: str, rows: Sequence[Missed], work: Work) -> None:
        with self._room.writing() as world:
            self._go_on(world, work)
            for one in rows:
                if world.missed.get((place, one.namespace, one.id)) == one.number:
                    del world.missed[place, one.namespace, one.id]
            if place in world.places:
                world.places[place] = None

    def untold(self, place: str, rows: Sequence[Missed]) -> None:
        with self._room.writing() as world:
            miss_again(world, [(place, one.namespace, one.id) for one in rows if place in world.places])


def miss_all(world: Worlds, place: str) -> None:
    """Everything that there is, to a new place."""
    if place.startswith(VECTORS):
        miss_again(world, [(place, *key) for key in world.namespaces])


def _miss(world: Worlds, namespace: str, ids: Iterable[str]) -> None:
    miss_again(world, [(place, namespace, id) for place in world.places if place.startswith(VECTORS) for id in ids])


def _check(namespace: str, stored: bytes, given: int) -> None:
    if len(stored) != given:
        raise InvalidInput(
            f"vector: namespace {called(namespace)!r} holds vectors of {len(stored)} numbers, not {given}",
            hint="use another namespace for another model",
            field="vector",
        )
