"""What becomes of changes: rows, and an answer for each request. Pure; `present` is all that it knows of the store."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple, cast

from agent_memory.ledger import repeats
from agent_memory.ledger.journal import AMEND, CONNECT, DISCONNECT, ERASE, PUT, LineSubject, Signature
from agent_memory.ledger.request import Request
from agent_memory.ledger.rows import (
    AnswerRow,
    BelievedRecord,
    ContentRow,
    Lack,
    LinkRow,
    Present,
    RecordPlace,
    Rows,
    StoredVersion,
    VectorRow,
    VersionRow,
)
from agent_memory.ledger.seals import Identity, cut_seal, link_seal, tombstone_seal, version_seal
from agent_memory.ledger.timeline import Believed, meet
from agent_memory.ledger.world import World
from agent_memory.models.errors import AgentMemoryError, Changed, Conflict, Denied, InvalidInput, NotFound
from agent_memory.models.record import Scope
from agent_memory.ports.changes import (
    Amend,
    Applied,
    Change,
    Connect,
    Content,
    Disconnect,
    Effect,
    Erase,
    Expect,
    Key,
    Outcome,
    Put,
    VersionState,
)
from agent_memory.ports.progress import counted


class Planned(NamedTuple):
    """The rows of all requests that succeed, and what each of them is told."""

    rows: Rows
    answers: tuple[Applied | AgentMemoryError, ...]


def plan(requests: Sequence[Request], present: Present) -> Planned:
    """Each request sees what those before it did; one that fails leaves nothing, and gets its own error."""
    failed: dict[int, AgentMemoryError] = {}
    while True:
        world = World(present)
        answers: list[Applied | AgentMemoryError] = []
        for place, request in enumerate(requests):
            writer = _Writer(world, request)
            try:
                answers.append(failed.get(place) or writer.answer())
            except AgentMemoryError as error:
                failed[place] = error
                if writer.begun:
                    break
                answers.append(error)
        else:
            return Planned(world.rows(), tuple(answers))


class _Writer:
    """One request in the world that those before it left."""

    def __init__(self, world: World, request: Request) -> None:
        self.world = world
        self.journal = world.journal
        self.request = request
        self.scope = request.author.scope
        self.by = Signature(request.now, request.author.actor, request.author.reason)
        self.stored: dict[str, str] = {}  # id of a put -> id of the record that its key led to
        self.erased: list[str] = []
        self.begun = False  # whether the world is another one already
        self.along: set[str] = set()  # of these, the ones that were derived, and that nobody had named yet

    def answer(self) -> Applied:
        once, work = self.request.once, self.request.work
        if work is not None:
            self.world.go_on(work)
            self.begun = True
        if once and (known := self.world.answered(self.scope, once.key)):
            return repeats.answered(once, known)
        for expectation in self.request.expect:
            self._check(expectation)
        changes, self.begun = self.request.changes, True
        outcomes = tuple(self._write(change) for change in counted(changes, "writing", lambda: len(changes)))
        applied = Applied(self.journal.head.seq, self.journal.clock(self.by.now), outcomes, erased=tuple(self.erased))
        if once:
            kept = repeats.kept(once, self.request.salt, applied)
            self.world.answer(AnswerRow(self.scope, once.key, applied.at, kept))
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

    def _for(self, scope: Scope | None) -> _Writer:
        """The same writer on behalf of somebody who reads what it writes."""
        if scope is None or scope == self.scope:
            return self
        if self.scope not in scope.readable():
            raise Denied("scope: does not read what this author writes", field="scope")
        made = copy(self)
        made.scope = scope
        return made

    def _check(self, expect: Expect) -> None:
        held = None
        if expect.id is not None:
            held = self.world.by_id(self.scope, expect.id)
        elif expect.key is not None:
            held = self.world.by_key(self.scope, expect.kind or "", expect.key)
        self._check_version(held, expect.version, expect.id or expect.key)

    def _check_version(self, held: BelievedRecord | None, version: int, name: str | None) -> None:
        number = held.number if held else 0
        if number != version:
            raise Changed(
                f"{name}: version {version} was expected, the store has {number}",
                hint="read it again and repeat the change",
            )

    # -- records

    def _put(self, put: Put) -> Outcome:
        if self._passed_over(put):
            return Outcome(Effect.FORGOTTEN, put.id)
        held = self._target(put)
        if held is None:
            self.stored[put.id] = put.id
            self.along.discard(put.id)
            self._insert(RecordPlace(self.journal.next, put.id, self.scope), put.kind, 1, put.state, put)
            return Outcome(Effect.CREATED, put.id, 1)
        id = self.stored[put.id] = held.place.id
        number = held.number
        if put.if_absent:
            return Outcome(Effect.UNCHANGED, id, number)
        believed = [Believed(one, one.body.text, one.body.payload, one.state) for one in held.versions if one.body]
        meeting = meet(believed, put.content, put.state, succeeds=put.succeeds, dated=put.dated)
        if meeting.state is None:
            return Outcome(Effect.UNCHANGED, id, number)
        ended = self._end(held, meeting.ends)
        for version, state in meeting.keeps:
            number += 1
            self._insert(held.place, held.kind, number, state, version, ended)
            ended = ()
        self._insert(held.place, held.kind, number + 1, meeting.state, put, ended)
        return Outcome(Effect.UPDATED, id, number + 1)

    def _passed_over(self, put: Put) -> bool:
        if put.holds and not any(id in self.stored for id in put.holds):
            return True
        gone = put.unless_forgotten and self.world.forgotten(self.scope, put.id)
        return gone and self.world.by_id(self.scope, put.id) is None

    def _target(self, put: Put) -> BelievedRecord | None:
        """The record that this put is a version of: by key, else by id."""
        named = self.world.by_id(self.scope, put.id)
        keyed = None if put.state.key is None else self.world.by_key(self.scope, put.kind, put.state.key)
        if named is None:
            return keyed
        if named.kind != put.kind:
            raise Conflict(
                f"id {put.id!r} is taken by a record of kind {named.kind!r}",
                hint="leave the id out, or use another",
            )
        if put.state.position is not None and keyed is not named:
            raise Conflict(
                f"{put.kind} {put.id!r} has another place", hint="leave the id out: its place is its identity"
            )
        if keyed is not None and keyed is not named:
            raise Conflict(
                f"{put.kind} {put.id!r} cannot take a key that another record has",
                hint="update that record instead, or choose another name",
            )
        return named

    def _amend(self, amend: Amend) -> Outcome:
        held = self._find(amend.id, to_change=True)
        at, versions = self.journal.clock(self.by.now), [one for one in held.versions if one.body]
        if not versions:
            raise NotFound(f"record {amend.id!r} has no current version", field="id")
        version = next((one for one in reversed(versions) if one.state.valid_from <= at), versions[0])
        changed = {
            name: value
            for name in ("status", "importance", "confidence", "valid_to")
            if (value := getattr(amend, name)) is not None
        }
        state = version.state._replace(**changed)
        if state.valid_to is not None and state.valid_to <= state.valid_from:
            raise InvalidInput("valid_to: is not after valid_from", field="valid_to")
        if state == version.state:
            return Outcome(Effect.UNCHANGED, held.place.id, held.number)
        ended = self._end(held, (version,))
        self._insert(held.place, held.kind, held.number + 1, state, version, ended)
        return Outcome(Effect.UPDATED, held.place.id, held.number + 1)

    def _end(self, held: BelievedRecord, versions: Sequence[StoredVersion]) -> Sequence[int]:
        """The numbers of what the next line ends."""
        if versions:
            self.world.end(held, versions, self.journal.next)
        return [one.version for one in versions]

    def _insert(
        self,
        place: RecordPlace,
        kind: str,
        number: int,
        state: VersionState,
        body: Put | StoredVersion,
        ended: Sequence[int] = (),
    ) -> None:
        """A version and its journal line, with a content of its own or one that is stored already."""
        content = body.content if isinstance(body, Put) else cast("Content", body.body)
        proof = version_seal(Identity(place.id, kind, place.scope, number), content, state, ended)
        operation = PUT if isinstance(body, Put) else AMEND
        seq = self.journal.append(operation, LineSubject(place.scope, place.record), self.by, proof)
        if isinstance(body, Put):
            self.world.add(VersionRow(seq, place, kind, number, seq, state), self._content(seq, place.scope, body))
        else:
            self.world.add(VersionRow(seq, place, kind, number, body.content, state), body)

    def _content(self, seq: int, scope: Scope, put: Put) -> ContentRow:
        """In each space it has the vectors that came with it, or waits for them."""
        derived = put.derived
        self.world.settle(derived.vocabulary)
        made = {space: derived.vectors if space == derived.space else () for space in self.world.present.spaces}
        return ContentRow(
            seq,
            put.content,
            derived.terms,
            derived.fields,
            tuple(VectorRow(seq, one.part, seq, scope, space, one) for space in made for one in made[space]),
            tuple(
                Lack(seq, scope, space, len(vectors))
                for space, vectors in made.items()
                if not (vectors and derived.complete)
            ),
        )

    # -- links

    def _connect(self, change: Connect) -> Outcome:
        try:
            source, target = self._end_of(change.source_id), self._end_of(change.target_id)
        except NotFound:
            gone = any(self.world.forgotten(self.scope, end) for end in (change.source_id, change.target_id))
            if change.if_there or (change.unless_forgotten and gone):
                return Outcome(Effect.UNCHANGED, "")
            raise
        scope = self._narrower(source.scope, target.scope)
        old = self.world.standing(source.record, target.record, change.type, scope)
        if old is not None:
            if (old.weight, old.properties) == (change.weight, change.properties):
                return Outcome(Effect.UNCHANGED, source.id)
            self.world.cut(old, self.journal.next)
        ends = (source.record, target.record, change.type)
        proof = link_seal(change.salt, ends, change.weight, change.properties, old.link if old else None)
        seq = self.journal.append(CONNECT, LineSubject(scope, source.record, target.record), self.by, proof)
        self.world.connect(LinkRow(seq, *ends, scope, change.weight, change.properties, change.salt), source)
        return Outcome(Effect.UPDATED if old else Effect.CREATED, source.id)

    def _disconnect(self, change: Disconnect) -> Outcome:
        source, target = self._end_of(change.source_id), self._end_of(change.target_id)
        scope = self._narrower(source.scope, target.scope)
        old = self.world.standing(source.record, target.record, change.type, scope)
        if old is None:
            return Outcome(Effect.UNCHANGED, source.id)
        self.world.cut(old, self.journal.next)
        subject = LineSubject(scope, source.record, target.record)
        self.journal.append(DISCONNECT, subject, self.by, cut_seal(old.salt, old.link))
        return Outcome(Effect.UPDATED, source.id)

    def _end_of(self, end: str | Key) -> RecordPlace:
        if isinstance(end, str):
            return self._find(end).place
        held = self.world.by_key(self.scope, end.kind, end.key)
        if held is None:
            raise NotFound(f"no {end.kind} with this key", field="key")
        return held.place

    def _narrower(self, here: Scope, there: Scope) -> Scope:
        """The scope of the two ends with fewer readers; never wider than the author's user, whose link it is."""
        chosen = here if there in here.readable() else there if here in there.readable() else self.scope
        return chosen if chosen.user == self.scope.user else self.scope

    # -- both

    def _find(self, id: str, *, to_change: bool = False, only: Scope | None = None) -> BelievedRecord:
        """The record of an id that this author sees, the narrowest scope first, or in `only` one of them.
        What belongs to all users is changed only by whoever writes for all of them."""
        id = self.stored.get(id, id)
        for scope in self.scope.readable():
            held = self.world.by_id(scope, id) if only in (None, scope) else None
            if held is not None:
                if to_change and scope.user != self.scope.user:
                    raise Denied(f"record {id!r} is shared by all users", hint="change it with shared=True", field="id")
                return held
        raise NotFound(f"no record {id!r}", hint="`agent-memory list` shows what there is", field="id")

    def _erase(self, change: Erase) -> Outcome:
        id = self.stored.get(change.id, change.id)
        if id in self.along:  # named, and gone already with what it was derived from
            return Outcome(Effect.ERASED, id)
        held = self._find(change.id, to_change=True, only=change.scope)
        if change.version is not None:
            self._check_version(held, change.version, id)
        user, along = self.scope.user, change.retelling
        derived = self.world.derived(held.place.record, user, along) if change.with_derived else []
        for place in (held.place, *derived):
            seq = self.journal.append(ERASE, LineSubject(place.scope, place.record), self.by, tombstone_seal(place.id))
            self.world.erase(place, seq)
            self.erased.append(place.id)
        self.along |= {place.id for place in derived}
        return Outcome(Effect.ERASED, id)
