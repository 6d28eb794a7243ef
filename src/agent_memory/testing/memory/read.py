"""What a reader sees, by looking at everything."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import inf

from agent_memory.models.errors import NotFound
from agent_memory.models.moment import from_micros, maybe_moment
from agent_memory.models.record import JournalLine, Link, Linked, Record, Scope
from agent_memory.ports.changes import VersionState
from agent_memory.ports.index import Called, Calling, LinkStep
from agent_memory.ports.records import CONFINED, Filter, View
from agent_memory.testing.memory.world import ToyLink, ToyRecord, ToyVersion, ToyWorld

Past = tuple[tuple[int, int], ...]


class ToyReader:
    """One world, seen by one reader at one moment."""

    def __init__(self, world: ToyWorld, view: View) -> None:
        self.world = world
        self.view = view
        self.scopes = view.scope.readable()
        self.seq = inf if view.seq is None else view.seq

    def _entries(self, id: str | None = None) -> list[ToyRecord]:
        """All records behind the reader's walls that had come by then, or those with this id: the narrowest scope
        first, then by age."""
        rank = {scope: place for place, scope in enumerate(self.scopes)}
        seen = [
            entry
            for entry in self.world.entries.values()
            if (id is None or entry.id == id) and entry.number <= self.seq and entry.scope in rank
        ]
        return sorted(seen, key=lambda entry: (rank[entry.scope], entry.number))

    def _named(self, id: str) -> ToyRecord | None:
        return next(iter(self._entries(id)), None)

    def _shown(self, entry: ToyRecord) -> ToyVersion | None:
        """The version that holds: at most one."""
        believed = [
            version
            for version in self.world.versions.values()
            if version.record == entry.number and self._stands(version.seq, version.ended)
        ]
        if self.view.valid_at is not None:
            return next((version for version in believed if _holds(version.state, self.view.valid_at)), None)
        left = [version for version in believed if _ends_after(version.state, self.view.now)]
        return min(left, key=lambda version: version.state.valid_from, default=None)

    def visible(self, where: Filter, past: Past = ()) -> list[ToyVersion]:
        versions = [version for entry in self._entries() if (version := self._shown(entry))]
        return [one for one in (*versions, *self._over(past)) if self._misfit(one, where) is None]

    def _over(self, past: Past) -> list[ToyVersion]:
        """The versions that are over, and held in one of these intervals."""
        seen = {entry.number for entry in self._entries()} if past and self.view.valid_at is None else ()
        believed = [
            one for one in self.world.versions.values() if one.record in seen and self._stands(one.seq, one.ended)
        ]
        return [
            one
            for one in believed
            if (end := one.state.valid_to) is not None and end <= self.view.now
            if any(max(one.state.valid_from, start) < min(end, stop) for start, stop in past)
        ]

    def hidden(self, where: Filter, past: Past, until: int) -> Counter[str]:
        """How many versions behind the reader's walls are not visible, by what hides them, of those until a line."""
        over = [version.seq for version in self._over(past)]
        return Counter(
            reason
            for version in self.world.versions.values()
            if (entry := self.world.entries[version.record]).scope in self.scopes
            and version.seq <= until
            and (reason := self._hiding(entry, version, where, over))
        )

    def _hiding(self, entry: ToyRecord, version: ToyVersion, where: Filter, over: Collection[int]) -> str | None:
        if not self._stands(version.seq, version.ended):
            return "recorded"
        seen = self._shown(entry) is version or version.seq in over
        return self._misfit(version, where) if seen else "valid"

    def get(self, ids: Sequence[str]) -> list[Record]:
        entries = [entry for id in ids if (entry := self._named(id))]
        return [self.record(version) for entry in entries if (version := self._shown(entry))]

    def by_key(self, kind: str, key: str) -> Record | None:
        for entry in self._entries():
            version = self._shown(entry)
            if entry.kind == kind and version and version.state.key == key:
                return self.record(version)
        return None

    def head(self, scope: Scope, kind: str, key: str | None, id: str | None) -> Record | None:
        for entry in self._entries():
            believed = [one for one in self.world.versions.values() if one.record == entry.number and one.ended is None]
            same = entry.id == id if id is not None else any(one.state.key == key for one in believed)
            if same and entry.scope == scope and entry.kind == kind:
                last = max(believed, key=lambda one: (one.state.valid_from, one.seq))
                return self.record(last).model_copy(update={"version": max(one.number for one in believed)})
        return None

    def find(self, where: Filter, limit: int, after: str | None, oldest_first: bool) -> list[Record]:
        versions = sorted(self.visible(where), key=_age, reverse=not oldest_first)
        if after is not None:
            entry = self._named(after)
            last = self._shown(entry) if entry else None
            if last is None:
                raise NotFound(f"no record {after!r} to continue after", field="after")
            place = _age(last)
            versions = [one for one in versions if (_age(one) > place if oldest_first else _age(one) < place)]
        return [self.record(version) for version in versions[:limit]]

    def history(self, id: str) -> list[Record]:
        entry = self._named(id)
        if entry is None:
            raise NotFound(f"no record {id!r}", field="id")
        versions = [one for one in self.world.versions.values() if one.record == entry.number and one.seq <= self.seq]
        return [self.record(version) for version in sorted(versions, key=lambda one: one.seq)]

    def beginning(self, prefix: str, limit: int) -> list[str]:
        return sorted({entry.id for entry in self._entries() if entry.id.startswith(prefix)})[:limit]

    def believed(self, where: Filter, after: int, limit: int) -> list[Linked]:
        seen = {entry.number for entry in self._entries()}
        at = self.view.valid_at
        versions = [
            one
            for one in sorted(self.world.versions.values(), key=lambda one: one.seq)
            if one.record in seen and one.seq > after and self._stands(one.seq, one.ended)
            if (at is None or _holds(one.state, at)) and self._misfit(one, where) is None
        ]
        return [Linked(**dict(self.record(one)), links=self._starting(one.record)) for one in versions[:limit]]

    def _starting(self, record: int) -> list[Link]:
        edges = [one for one in self.world.edges.values() if one.source == record and self._believed(one)]
        return [self._link(one) for one in edges if self.world.entries[one.target].scope in self.scopes]

    def record(self, version: ToyVersion) -> Record:
        entry, body, state = self.world.entries[version.record], self.world.bodies[version.body], version.state
        return Record(
            id=entry.id,
            kind=entry.kind,
            scope=entry.scope,
            text=body.text,
            payload=json.loads(body.payload),
            key=state.key,
            conversation_id=state.conversation_id,
            repository=state.repository,
            status=state.status,
            importance=state.importance,
            confidence=state.confidence,
            source=state.source,
            valid_from=from_micros(state.valid_from),
            valid_to=maybe_moment(state.valid_to),
            recorded_at=from_micros(self.world.lines[version.seq - 1].at),
            recorded_to=None if version.ended is None else from_micros(self.world.lines[version.ended - 1].at),
            seq=version.seq,
            version=version.number,
        )

    # -- links

    def links(self, ids: Sequence[str]) -> list[Link]:
        wanted = {entry.number for id in ids if (entry := self._named(id))}
        return [self._link(edge) for edge in self._edges() if wanted & {edge.source, edge.target}]

    def steps(self, handles: Sequence[int], most: int) -> list[LinkStep]:
        seen = [version for entry in self._entries() if (version := self._shown(entry))]
        starts = {version.record: version for version in seen if version.seq in handles}
        shown = {version.record: version for version in seen}
        edges = [one for one in self.world.edges.values() if self._believed(one)]
        found = []
        for edge in edges:
            for near, far, outward in ((edge.source, edge.target, True), (edge.target, edge.source, False)):
                same = [one for one in edges if one.type == edge.type and (one.source, one.target)[not outward] == near]
                if near in starts and far in shown and len(same) <= most:
                    there = shown[far]
                    found.append(
                        LinkStep(starts[near].seq, there.seq, edge.type, edge.weight, outward, there.state.status)
                    )
        return found

    def hydrate(self, handles: Sequence[int]) -> list[Record]:
        there = [self.world.versions[one] for one in handles if one in self.world.versions and one <= self.seq]
        return [self.record(one) for one in there if self.world.entries[one.record].scope in self.scopes]

    def called(self, names: Collection[str], calling: Calling, most: int) -> list[Called]:
        having: dict[str, set[int]] = {}
        for entry in self._entries():
            for version in self.world.versions.values():
                if version.record == entry.number and version.seq <= self.seq:
                    for name in self._names(version, calling):
                        having.setdefault(name, set()).add(entry.number)
        telling = {name for name in names if 0 < len(having.get(name, ())) <= most}
        shown = [
            one for entry in self._entries() if (one := self._shown(entry)) and telling & set(self._names(one, calling))
        ]
        return [
            Called(one.seq, {*names} & {*self._names(one, calling)}, one.state.status)
            for one in sorted(shown, key=lambda one: one.record)
        ]

    def _names(self, version: ToyVersion, calling: Calling) -> Sequence[str]:
        naming = calling.get(self.world.entries[version.record].kind)
        return () if naming is None else naming(json.loads(self.world.bodies[version.body].payload))

    def _believed(self, edge: ToyLink) -> bool:
        return self._stands(edge.seq, edge.ended) and edge.scope in self.scopes

    def _edges(self) -> Iterable[ToyLink]:
        """Believed at the view's moment, inside the walls, both ends shown."""
        for edge in self.world.edges.values():
            ends = (self.world.entries[edge.source], self.world.entries[edge.target])
            if self._believed(edge) and all(end.scope in self.scopes and self._shown(end) for end in ends):
                yield edge

    def _link(self, edge: ToyLink) -> Link:
        return Link(
            source_id=self.world.entries[edge.source].id,
            target_id=self.world.entries[edge.target].id,
            type=edge.type,
            weight=edge.weight,
            properties=json.loads(edge.properties),
        )

    # -- the journal

    def journal(self, after: int, limit: int, id: str | None) -> list[JournalLine]:
        entry = self._named(id) if id is not None else None
        lines = [
            JournalLine(
                seq=line.seq,
                at=from_micros(line.at),
                operation=line.operation,
                actor=line.actor,
                reason=line.reason,
                record_id=line.record_id,
                digest=line.proof.hex(),
                chain=line.chain.hex(),
            )
            for line in self.world.lines
            if line.scope in self.scopes
            and after < line.seq <= self.seq
            and (id is None or (entry is not None and line.record == entry.number))
        ]
        return lines[:limit]

    # -- inside

    def _stands(self, seq: int, ended: int | None) -> bool:
        return seq <= self.seq and (ended is None or ended > self.seq)

    def _misfit(self, version: ToyVersion, where: Filter) -> str | None:
        """The first part of the filter that does not let it through."""
        state, fields = version.state, self.world.bodies[version.body].fields
        fits = {
            "kinds": where.kinds is None or self.world.entries[version.record].kind in where.kinds,
            "statuses": state.status in where.statuses,
            "conversation_id": where.conversation_id is None or state.conversation_id == where.conversation_id,
            "repository": where.repository is None or state.repository == where.repository,
            "after": where.after is None or state.valid_from >= where.after,
            "before": where.before is None or state.valid_from < where.before,
            "min_confidence": where.min_confidence is None or state.confidence >= where.min_confidence,
            "fields": all(wanted in fields for wanted in where.fields),
            "pages": where.pages is None or not self._elsewhere(version, where.pages),
        }
        return next((name for name, fitting in fits.items() if not fitting), None)

    def _elsewhere(self, version: ToyVersion, pages: tuple[str, ...]) -> bool:
        kind, field = CONFINED
        fields = self.world.bodies[version.body].fields
        places = [value for name, value in fields if name == field]
        return self.world.entries[version.record].kind == kind and any(place not in pages for place in places)


def _age(version: ToyVersion) -> tuple[int, int]:
    return version.state.valid_from, version.record


def _holds(state: VersionState, moment: int) -> bool:
    return state.valid_from <= moment and (state.valid_to is None or state.valid_to > moment)


def _ends_after(state: VersionState, now: int) -> bool:
    """Whether there is still a moment at which it holds; an interval that was cut to nothing has none."""
    return state.valid_to is None or state.valid_to > max(now, state.valid_from)
