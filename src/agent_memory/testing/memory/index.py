"""The `Index` port, row by row."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import TYPE_CHECKING

from agent_memory.ledger.quantise import quantised
from agent_memory.models.errors import Conflict, SpaceMismatch
from agent_memory.models.record import Record, Scope
from agent_memory.ports.changes import Vector
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Work
from agent_memory.ports.index import (
    NEVER,
    Called,
    Calling,
    Embedded,
    LinkStep,
    Pool,
    Probe,
    Sampled,
    Snapshot,
    Unembedded,
)
from agent_memory.ports.records import View
from agent_memory.testing.memory.feed import go_on
from agent_memory.testing.memory.read import ToyReader
from agent_memory.testing.memory.world import (
    ADOPT,
    EMBED,
    OURSELVES,
    Made,
    ToyBody,
    ToyRoom,
    ToySignature,
    ToyVersion,
    ToyWorld,
    Worlds,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class _Row:
    """A version that the reader sees, and what speaks for it."""

    version: ToyVersion
    body: ToyBody
    similarity: float
    counts: list[int]
    exact: bool


class ToyIndex:
    def __init__(self, room: ToyRoom) -> None:
        self._room = room

    def snapshot(self, scope: Scope) -> Snapshot:
        with self._room.reading() as world:
            active = world.spaces[0] if world.spaces else None
            pending = len(_lacking(world, active, scope)) if active else 0
            written = () if world.vocabulary is None else (world.vocabulary,)
            seq = world.of(scope.tenant).seq
            lasts = dict.fromkeys(scope.readable(), seq)
            return Snapshot(scope, seq, world.seq, world.seq, lasts, active, pending, written)

    def gather(self, snapshot: Snapshot, probes: Sequence[Probe]) -> list[Pool]:
        return [self._gather(snapshot, probe) for probe in probes]

    def _gather(self, snapshot: Snapshot, probe: Probe) -> Pool:
        with self._room.reading() as world:
            active = world.spaces[0] if world.spaces else None
            if probe.vector is not None and probe.space != active:
                raise SpaceMismatch(f"the store holds vectors of {active}, not of {probe.space}")
            own = world.of(snapshot.scope.tenant)
            reader = ToyReader(own, _at(snapshot, probe.view))
            until = snapshot.seq if probe.vectors_until is None else min(snapshot.seq, probe.vectors_until)
            probe = probe._replace(vectors_until=until)
            rows = [_row(own, probe, version) for version in reader.visible(probe.where, probe.past)]
            apart = set[tuple[Scope, str | None]]()
            if probe.aside is not None:
                apart = {_talk_of(own, version) for version in reader.visible(probe.aside, ())}
            pool = _pool(rows, probe, snapshot, [_talk_of(own, row.version) in apart for row in rows])
            hidden = reader.hidden(probe.where, probe.past, snapshot.seq) if probe.tell_hidden else None
            return pool._replace(hidden=hidden)

    def occurring(self, snapshot: Snapshot, terms: Sequence[int]) -> frozenset[int]:
        with self._room.reading() as worlds:
            world = worlds.of(snapshot.scope.tenant)
            bodies = [body for body in world.bodies.values() if world.scope_of(body.number) in snapshot.lasts]
            return frozenset(term for term in terms if any(term in body.terms for body in bodies))

    def called(
        self, snapshot: Snapshot, view: View, names: Collection[str], calling: Calling, *, most: int
    ) -> list[Called]:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), _at(snapshot, view)).called(names, calling, most)

    def steps(self, snapshot: Snapshot, view: View, handles: Sequence[int], *, most: int) -> list[LinkStep]:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), _at(snapshot, view)).steps(handles, most)

    def hydrate(self, view: View, handles: Sequence[int]) -> list[Record]:
        with self._room.reading() as world:
            return ToyReader(world.of(view.scope.tenant), view).hydrate(handles)

    def damaged(self, view: View, handles: Collection[int]) -> int:
        return 0

    def space(self) -> Space | None:
        with self._room.reading() as world:
            return world.spaces[0] if world.spaces else None

    def adopted(self, after: int) -> bool:
        with self._room.reading() as world:
            name = world.spaces[0].fingerprint if world.spaces else None
            return any(line.operation == ADOPT and line.reason == name for line in world.lines[after:])

    def begin(self, space: Space, *, anew: bool = False) -> None:
        with self._room.writing() as world:
            if anew and world.spaces[:1] == [space]:
                for one in world.tenants.values():
                    one.pending |= {(space, body): 0 for body in one.bodies if not _brought(one, space, body)}
            if space in world.spaces:
                return
            world.spaces.append(space)
            for one in world.tenants.values():
                one.pending |= {(space, body): 0 for body in one.bodies}
            if world.spaces == [space]:
                _adopt(world, space)

    def switch(self, space: Space, *, anew: bool = False) -> None:
        with self._room.writing() as world:
            left = len(_lacking(world, space, None))
            if space not in world.spaces or left:
                raise Conflict(f"{left} contents have no vector in {space.fingerprint} yet", hint="embed them first")
            if world.spaces[0] == space and not anew:
                return
            world.spaces = [space]
            for own in world.tenants.values():
                own.vectors = {place: one for place, one in own.vectors.items() if place[0] == space}
                own.pending = {place: one for place, one in own.pending.items() if place[0] == space}
            _adopt(world, space)

    def vectors(self, view: View, handles: Sequence[int]) -> Mapping[int, tuple[Vector, ...]]:
        with self._room.reading() as world:
            own, space = world.of(view.scope.tenant), world.spaces[0] if world.spaces else None
            scopes, found = view.scope.readable(), dict[int, tuple[Vector, ...]]()
            for version in own.versions.values():
                made = own.vectors.get((space, version.body), ()) if space else ()
                waits = (space, version.body) in own.pending
                if version.seq in handles and made and not waits and own.scope_of(version.body) in scopes:
                    found[version.seq] = tuple(one.vector for one in made)
            return found

    def pending(self, space: Space, view: View | None = None) -> int:
        with self._room.reading() as world:
            return len(_lacking(world, space, view.scope if view else None))

    def unembedded(self, space: Space, view: View | None, limit: int) -> list[Unembedded]:
        with self._room.reading() as world:
            lacking = _lacking(world, space, view.scope if view else None)
            tenant = min((name for name, _ in lacking), default="")
            bodies = sorted((body for name, body in lacking if name == tenant), reverse=True)[:limit]
            own = world.of(tenant)
            return [
                Unembedded(tenant, body, own.bodies[body].text, own.pending[space, body], world.seq) for body in bodies
            ]

    def sample(self, space: Space, count: int) -> list[Sampled]:
        with self._room.reading() as world:
            found = [
                Sampled(tenant, body, own.bodies[body].text[made.vector.start : made.vector.end], made.vector)
                for tenant, own in world.tenants.items()
                for (where, body), all_made in own.vectors.items()
                for made in all_made
                if where == space and made.vector.start < made.vector.end
            ]
            return found[:count]

    def embedded(
        self,
        space: Space,
        tenant: str,
        batch: Sequence[Embedded],
        *,
        now: int,
        wait: bool = True,
        work: Work | None = None,
    ) -> None:
        with self._room.writing() as worlds:
            if work is not None:
                go_on(worlds, work)
            world = worlds.of(tenant)
            lines = dict[Scope, int]()
            for one in batch:
                place = (space, one.handle)
                part = world.pending.get(place)
                if part is None or (one.vectors and one.vectors[0].part != part):
                    continue
                if one.store is not None and worlds.founded(tenant) > one.store:
                    continue
                scope = world.scope_of(one.handle)
                if scope not in lines:
                    lines[scope] = world.note(ToySignature(now, OURSELVES), EMBED, scope, None, b"")
                if one.vectors:
                    made = (Made(lines[scope], vector) for vector in one.vectors)
                    world.vectors[place] = (*(world.vectors.get(place, ()) if part else ()), *made)
                world.pending[place] = part + len(one.vectors)
                if one.complete:
                    del world.pending[place]


def _brought(world: ToyWorld, space: Space, body: int) -> bool:
    """A caller's own vector stays: nobody else can make it again."""
    return any(made.vector.start == made.vector.end == 0 for made in world.vectors.get((space, body), ()))


def _adopt(world: Worlds, space: Space) -> None:
    world.note(ToySignature(0, OURSELVES, space.fingerprint), ADOPT, None, None, b"")


def _at(snapshot: Snapshot, view: View) -> View:
    return view._replace(seq=snapshot.at(view))


def _lacking(world: Worlds, space: Space, scope: Scope | None) -> list[tuple[str, int]]:
    """(tenant, body)"""
    return [
        (tenant, body)
        for tenant, own in world.tenants.items()
        for place, body in own.pending
        if place == space and (scope is None or own.scope_of(body) in scope.readable())
    ]


def _row(world: ToyWorld, probe: Probe, version: ToyVersion) -> _Row:
    body = world.bodies[version.body]
    similarity = nan
    if probe.vector is not None and probe.space is not None:
        made = [
            one.vector
            for one in world.vectors.get((probe.space, body.number), ())
            if probe.vectors_until is None or one.seq <= probe.vectors_until
        ]
        similarity = max((_score(vector, probe.vector) for vector in made), default=nan)
    counts = [body.terms.get(term, 0) for term in probe.terms]
    return _Row(version, body, similarity, counts, probe.key is not None and version.state.key == probe.key)


def _score(vector: Vector, query: NDArray[np.float32]) -> float:
    import numpy as np

    scale, data = quantised(vector.numbers)
    return float(np.frombuffer(data, np.int8).astype(np.float32) @ query * np.float32(scale))


def _talk(row: _Row) -> tuple[str, int, int]:
    state = row.version.state
    return state.conversation_id or "", state.position or 0, row.version.seq


def _talk_of(world: ToyWorld, version: ToyVersion) -> tuple[Scope, str | None]:
    return world.scope_of(version.body), version.state.conversation_id


def _pool(rows: list[_Row], probe: Probe, snapshot: Snapshot, aside: list[bool]) -> Pool:
    import numpy as np

    apart = {id(row): told for row, told in zip(rows, aside, strict=True)}
    rows = sorted(rows, key=_talk)
    talks = {
        talk: number for number, talk in enumerate(dict.fromkeys(row.version.state.conversation_id for row in rows), 1)
    }
    places = range(len(rows))
    known = [place for place in places if not isnan(rows[place].similarity)]
    near = sorted(known, key=lambda place: (-rows[place].similarity, rows[place].version.seq))
    recent = sorted(places, key=lambda place: (-rows[place].version.state.valid_from, rows[place].version.seq))
    chosen = {*near[: probe.pool], *recent[: probe.pool]}
    kept = [
        row
        for place, row in enumerate(rows)
        if place in chosen or any(row.counts) or row.exact or row.version.seq in probe.also
    ]
    holding = [sum(row.counts[term] > 0 for row in rows) for term in range(len(probe.terms))]
    return Pool(
        seq=snapshot.at(probe.view),
        head=snapshot.seq,
        handles=np.array([row.version.seq for row in kept], np.int64),
        valid_from=np.array([row.version.state.valid_from for row in kept], np.int64),
        importance=np.array([row.version.state.importance for row in kept], np.float32),
        conversations=np.array(
            [talks[talk] if (talk := row.version.state.conversation_id) else 0 for row in kept], np.int32
        ),
        similarity=np.array([row.similarity for row in kept], np.float32),
        counts=np.array([row.counts for row in kept], np.uint8).reshape(len(kept), len(probe.terms)),
        lengths=np.array([row.body.length for row in kept], np.int32),
        exact=np.array([row.exact for row in kept], np.bool_),
        documents=len(rows),
        pending=snapshot.pending,
        vocabularies=snapshot.vocabularies,
        store=snapshot.store,
        frequencies=np.array(holding, np.int64),
        valid_to=np.array([_end(row) for row in kept], np.int64) if probe.past else None,
        records=np.array([row.version.record for row in kept], np.int64) if probe.past else None,
        aside=None if probe.aside is None else np.array([apart[id(row)] for row in kept], np.bool_),
    )


def _end(row: _Row) -> int:
    return NEVER if row.version.state.valid_to is None else row.version.state.valid_to
