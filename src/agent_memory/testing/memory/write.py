"""Changes, one after the other, on a copy of the world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace

from agent_memory.ledger.timeline import Believed, meet
from agent_memory.models.errors import Changed, Conflict, Denied, InvalidInput, NotFound
from agent_memory.models.record import Scope
from agent_memory.ports.changes import (
    APART,
    Amend,
    Applied,
    Author,
    Change,
    Connect,
    Content,
    Derived,
    Disconnect,
    Effect,
    Erase,
    Expect,
    Key,
    Once,
    Outcome,
    Put,
    Terms,
    VersionState,
)
from agent_memory.testing.memory.erase import derived, erase
from agent_memory.testing.memory.world import (
    AMEND,
    CONNECT,
    DISCONNECT,
    ERASE,
    PUT,
    Made,
    ToyBody,
    ToyLink,
    ToyRecord,
    ToySignature,
    ToyVersion,
    ToyWorld,
    edge_proof,
    version_proof,
)


class ToyWriter:
    """One write. Whoever calls it throws the world away when it raises."""

    def __init__(self, world: ToyWorld, author: Author, now: int) -> None:
        self.world = world
        self.scope = author.scope
        self.by = ToySignature(now, author.actor, author.reason)
        self.became: dict[str, str] = {}  # id of a put in this write -> id of the record that it became
        self.erased: list[str] = []
        self.along: set[str] = set()  # ids that went with what they were derived from

    def apply(self, changes: Sequence[Change], expect: Sequence[Expect], once: Once | None) -> Applied:
        if once and (self.scope, once.key) in self.world.answers:
            known = self.world.answers[self.scope, once.key]
            if known is None:
                raise Conflict(f"idempotency key {once.key!r} was used for what is forgotten now", hint="use a new key")
            if known[0] != once.fingerprint:
                raise Conflict(f"idempotency key {once.key!r} was used for another request", hint="use a new key")
            return known[1]._replace(repeated=True)
        for one in expect:
            self._check(one)
        outcomes = tuple(self._write(change) for change in changes)
        applied = Applied(self.world.seq, self.world.clock(self.by.now), outcomes, erased=tuple(self.erased))
        if once:
            self.world.answers[self.scope, once.key] = (once.fingerprint, applied)
        return applied

    def _write(self, change: Change) -> Outcome:
        match change:
            case Put():
                return self._put(change)
            case Amend():
                return self._amend(change)
            case Connect():
                return self._for(change.scope)._connect(change)
            case Disconnect():
                return self._disconnect(change)
            case Erase():
                return self._erase(change)

    def _erase(self, change: Erase) -> Outcome:
        id = self.became.get(change.id, change.id)
        if id in self.along:
            return Outcome(Effect.ERASED, id)
        entry = self._own(change.id, change.scope)
        if change.version is not None:
            self._check_version(entry, change.version)
        others = derived(self.world, entry, self.scope.user, change.retelling) if change.with_derived else []
        for one in (entry, *others):
            erase(self.world, self.by, one)
            self.erased.append(one.id)
        self.along |= {one.id for one in others}
        return Outcome(Effect.ERASED, entry.id)

    def _for(self, scope: Scope | None) -> ToyWriter:
        """The same writer in the name of a reader of what it writes."""
        if scope is None or scope == self.scope:
            return self
        if self.scope not in scope.readable():
            raise Denied("scope: reads nothing of this", field="scope")
        other = copy(self)
        other.scope = scope
        return other

    def _check(self, expect: Expect) -> None:
        entry = None
        if expect.id is not None:
            entry = self._mine(expect.id)
        elif expect.key is not None:
            entry = self._keyed(expect.kind or "", expect.key)
        self._check_version(entry, expect.version)

    def _check_version(self, entry: ToyRecord | None, version: int) -> None:
        number = self._last_number(entry) if entry else 0
        if number != version:
            raise Changed(f"version {version} was expected, the store has {number}", hint="read it again")

    # -- which record

    def _mine(self, id: str) -> ToyRecord | None:
        """The writer's own: a put never changes a record of another scope."""
        return _only(one for one in self.world.entries.values() if one.id == id and one.scope == self.scope)

    def _keyed(self, kind: str, key: str) -> ToyRecord | None:
        return _only(
            entry
            for entry in self.world.entries.values()
            if entry.scope == self.scope
            and entry.kind == kind
            and any(version.state.key == key for version in self._believed(entry))
        )

    def _seen(self, end: str | Key, only: Scope | None = None) -> ToyRecord:
        """Any that the writer may see, the narrowest scope first; by key, only the writer's own."""
        if isinstance(end, Key):
            found = self._keyed(end.kind, end.key)
            if found is None:
                raise NotFound(f"no {end.kind} with this key", field="key")
            return found
        id = self.became.get(end, end)
        for scope in self.scope.readable():
            for entry in self.world.entries.values():
                if entry.id == id and entry.scope == scope and only in (None, scope):
                    return entry
        raise NotFound(f"no record {id!r}", field="id")

    def _own(self, id: str, only: Scope | None = None) -> ToyRecord:
        entry = self._seen(id, only)
        if entry.scope.user != self.scope.user:
            raise Denied(f"record {id!r} is shared by all users", field="id")
        return entry

    def _believed(self, entry: ToyRecord) -> list[ToyVersion]:
        versions = [one for one in self.world.versions.values() if one.record == entry.number and one.ended is None]
        return sorted(versions, key=lambda one: (one.state.valid_from, one.seq))

    def _last_number(self, entry: ToyRecord) -> int:
        return max(one.number for one in self.world.versions.values() if one.record == entry.number)

    # -- versions

    def _put(self, put: Put) -> Outcome:
        if put.holds and not any(id in self.became for id in put.holds):
            return Outcome(Effect.FORGOTTEN, put.id)
        if put.unless_forgotten and self._forgotten(put.id) and self._mine(put.id) is None:
            return Outcome(Effect.FORGOTTEN, put.id)
        entry = self._target(put)
        if entry is None:
            entry = ToyRecord(self.world.seq + 1, put.id, self.scope, put.kind)
            self.world.entries[entry.number] = entry
            self.became[put.id] = put.id
            self.along.discard(put.id)
            self._store(entry, 1, put.state, put.content, put.derived)
            return Outcome(Effect.CREATED, entry.id, 1)
        self.became[put.id] = entry.id
        number = self._last_number(entry)
        if put.if_absent:
            return Outcome(Effect.UNCHANGED, entry.id, number)
        believed = [
            Believed(
                version, self.world.bodies[version.body].text, self.world.bodies[version.body].payload, version.state
            )
            for version in self._believed(entry)
        ]
        plan = meet(believed, put.content, put.state, succeeds=put.succeeds, dated=put.dated)
        if plan.state is None:
            return Outcome(Effect.UNCHANGED, entry.id, number)
        self._end(*plan.ends)
        for version, state in plan.keeps:
            number += 1
            self._again(entry, number, state, version.body)
        self._store(entry, number + 1, plan.state, put.content, put.derived)
        return Outcome(Effect.UPDATED, entry.id, number + 1)

    def _forgotten(self, id: str | Key) -> bool:
        mine = (self.scope.tenant, self.scope.user)
        erased = (line for line in self.world.lines if line.operation == ERASE and line.record_id == id)
        return any(line.scope is not None and (line.scope.tenant, line.scope.user) == mine for line in erased)

    def _target(self, put: Put) -> ToyRecord | None:
        named = self._mine(put.id)
        keyed = self._keyed(put.kind, put.state.key) if put.state.key is not None else None
        if named is None:
            return keyed
        if named.kind != put.kind:
            raise Conflict(f"id {put.id!r} is taken by a record of kind {named.kind!r}", hint="use another")
        if put.state.position is not None and keyed != named:
            raise Conflict(f"{put.kind} {put.id!r} has another place", hint="leave the id out")
        if keyed is not None and keyed != named:
            raise Conflict(f"{put.kind} {put.id!r} cannot take a key that another record has", hint="use another")
        return named

    def _amend(self, amend: Amend) -> Outcome:
        entry = self._own(amend.id)
        believed = self._believed(entry)
        latest = next(
            (one for one in reversed(believed) if one.state.valid_from <= self.world.clock(self.by.now)), believed[0]
        )
        named = ("status", "importance", "confidence", "valid_to")
        given = {name: getattr(amend, name) for name in named if getattr(amend, name) is not None}
        state = latest.state._replace(**given)
        if state.valid_to is not None and state.valid_to <= state.valid_from:
            raise InvalidInput("valid_to: is not after valid_from", field="valid_to")
        number = self._last_number(entry)
        if state == latest.state:
            return Outcome(Effect.UNCHANGED, entry.id, number)
        self._end(latest)
        self._again(entry, number + 1, state, latest.body)
        return Outcome(Effect.UPDATED, entry.id, number + 1)

    def _end(self, *versions: ToyVersion) -> None:
        for version in versions:
            self.world.versions[version.seq] = replace(version, ended=self.world.seq + 1)

    def _store(self, entry: ToyRecord, number: int, state: VersionState, content: Content, derived: Derived) -> None:
        """A version with a content of its own."""
        if derived.vocabulary and self.world.vocabulary and derived.vocabulary.name != self.world.vocabulary.name:
            raise Changed(f"the words are those of {self.world.vocabulary.name!r} now", hint="open it again")
        self.world.vocabulary = self.world.vocabulary or derived.vocabulary
        terms = words(derived.terms)
        body = ToyBody(
            self.world.seq + 1,
            entry.number,
            content.text,
            content.payload,
            content.salt,
            terms,
            derived.terms.length,
            derived.fields,
        )
        self.world.bodies[body.number] = body
        self._line(PUT, entry, number, state, body)
        for space in self.world.spaces:
            made = derived.vectors if space == derived.space else ()
            if made:
                self.world.vectors[space, body.number] = tuple(Made(body.number, one) for one in made)
            if not (made and derived.complete):
                self.world.pending[space, body.number] = len(made)

    def _again(self, entry: ToyRecord, number: int, state: VersionState, body: int) -> None:
        """A version of a content that is stored already."""
        self._line(AMEND, entry, number, state, self.world.bodies[body])

    def _line(self, operation: str, entry: ToyRecord, number: int, state: VersionState, body: ToyBody) -> None:
        seq = self.world.note(self.by, operation, entry.scope, entry, version_proof(body, state))
        self.world.versions[seq] = ToyVersion(seq, entry.number, number, body.number, state)

    # -- links

    def _connect(self, change: Connect) -> Outcome:
        try:
            source, target = self._seen(change.source_id), self._seen(change.target_id)
        except NotFound:
            gone = any(self._forgotten(end) for end in (change.source_id, change.target_id))
            if change.if_there or (change.unless_forgotten and gone):
                return Outcome(Effect.UNCHANGED, "")
            raise
        old = self._edge(source, target, change.type)
        if old is not None and (old.weight, old.properties) == (change.weight, change.properties):
            return Outcome(Effect.UNCHANGED, source.id)
        if old is not None:
            self.world.edges[old.seq] = replace(old, ended=self.world.seq + 1)
        edge = ToyLink(
            self.world.seq + 1,
            source.number,
            target.number,
            change.type,
            self._narrower(source.scope, target.scope),
            change.weight,
            change.properties,
            change.salt,
        )
        self.world.note(self.by, CONNECT, edge.scope, source, edge_proof(edge))
        self.world.edges[edge.seq] = edge
        return Outcome(Effect.UPDATED if old else Effect.CREATED, source.id)

    def _disconnect(self, change: Disconnect) -> Outcome:
        source, target = self._seen(change.source_id), self._seen(change.target_id)
        old = self._edge(source, target, change.type)
        if old is None:
            return Outcome(Effect.UNCHANGED, source.id)
        self.world.edges[old.seq] = replace(old, ended=self.world.seq + 1)
        self.world.note(self.by, DISCONNECT, self._narrower(source.scope, target.scope), source, b"")
        return Outcome(Effect.UPDATED, source.id)

    def _edge(self, source: ToyRecord, target: ToyRecord, type: str) -> ToyLink | None:
        ends = (source.number, target.number, type)
        scope = self._narrower(source.scope, target.scope)
        for edge in self.world.edges.values():
            if (edge.source, edge.target, edge.type) == ends and edge.scope == scope and edge.ended is None:
                return edge
        return None

    def _narrower(self, one: Scope, other: Scope) -> Scope:
        """The scope of the two with fewer readers; never wider than the writer's user."""
        chosen = one if other in one.readable() else other if one in other.readable() else self.scope
        return chosen if chosen.user == self.scope.user else self.scope


def _only(entries: Iterator[ToyRecord]) -> ToyRecord | None:
    return next(entries, None)


def asked(terms: bytes) -> tuple[frozenset[int], ...]:
    """The words of a query, apart for each vocabulary that has any of them."""
    parts: list[set[int]] = [set()]
    for place in range(0, len(terms), 8):
        if terms[place : place + 8] == APART:
            parts.append(set())
        else:
            parts[-1].add(int.from_bytes(terms[place : place + 8], "little"))
    return tuple(frozenset(part) for part in parts if part)


def words(terms: Terms) -> dict[int, int]:
    """Hash -> how often."""
    hashes = [int.from_bytes(terms.hashes[place : place + 8], "little") for place in range(0, len(terms.hashes), 8)]
    return dict(zip(hashes, terms.counts, strict=True))
