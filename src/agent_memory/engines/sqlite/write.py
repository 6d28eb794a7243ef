"""The one write: changes come in, rows go out, all in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from agent_memory.engines.sqlite import erase, repeats, scrub
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning, Naming, known_scope, label, label_text
from agent_memory.engines.sqlite.journal import AMEND, PUT, Ledger
from agent_memory.engines.sqlite.linking import Linking
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.seals import Identity, sealed, version_seal
from agent_memory.engines.sqlite.statements import SQL, VECTORS_PER_LINE
from agent_memory.models.errors import Changed, Conflict, Denied, InvalidInput, NotFound
from agent_memory.models.record import Scope, Status
from agent_memory.ports.changes import (
    DERIVED_FROM,
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
    Once,
    Outcome,
    Put,
    State,
)
from agent_memory.ports.embedder import Space
from agent_memory.ports.progress import counted
from agent_memory.ports.timeline import Believed, meet


def apply(
    connections: Connections,
    interning: Interning,
    changes: Sequence[Change],
    request: Request,
) -> Applied:
    """Change by change under the write lock; the first error undoes all of them."""
    with connections.writing() as connection:
        check_version(connection, connections.name)
        names = Naming(interning, connection)
        writer = Writer(connection, names, request.author, request.now)
        if request.once and (answer := repeats.answered(connection, writer.scope, request.once)):
            return answer
        for expectation in request.expect:
            writer.check(expectation)
        outcomes = tuple(writer.write(change) for change in counted(changes, "writing", lambda: len(changes)))
        erased = tuple(writer.erasing.ids)
        if erased:
            writer.erasing.finish(request.now)
        applied = Applied(writer.ledger.seq, writer.ledger.at, outcomes, erased=erased)
        if request.once:
            repeats.remember(connection, writer.scope, request.once, applied)
        debt = scrub.owed(connection)
    names.settle()
    if debt is None:
        return applied
    scrubbed = scrub.scrub(connections, patience=scrub.PATIENCE_SECONDS if erased else 0.0)
    return replace(applied, scrubbed=scrubbed or not erased)


@dataclass(frozen=True)
class Request:
    """What goes with the changes."""

    author: Author
    now: int
    expect: Sequence[Expect] = ()
    once: Once | None = None


@dataclass(frozen=True)
class _Slot:
    """Where a version goes."""

    record: int
    id: str
    kind: int
    scope: int


@dataclass(frozen=True)
class _Row:
    """A version that is believed now, as stored."""

    version: int
    number: int
    content: int
    salt: bytes


class Writer:
    """One transaction's worth of changes."""

    def __init__(self, connection: sqlite3.Connection, names: Naming, author: Author, now: int) -> None:
        self.connection = connection
        self.names = names
        self.author = author
        self.scope = names.scope(author.scope)
        self.spaces: list[tuple[int, Space]] | None = None
        self.links = Linking(self)
        self.stored: dict[str, str] = {}  # id of a put -> id of the record that its key led to
        self.ledger = Ledger(connection, now, names.number(author.actor), author.reason)
        self.erasing = erase.Erasing(connection, self.ledger)
        self.ending: list[int] = []  # versions that the next line ends

    def write(self, change: Change) -> Outcome:
        match change:
            case Put():
                return self._put(change)
            case Amend():
                return self._amend(change)
            case Connect():
                return self.links.connect(change)
            case Disconnect():
                return self.links.disconnect(change)
            case Erase():
                return self._erase(change)

    @cached_property
    def forgotten(self) -> frozenset[str]:
        """Ids of what this author's user ever forgot, for whichever agent it was."""
        scope = self.author.scope
        return frozenset(id for (id,) in self.connection.execute(SQL["forgotten"], (scope.tenant, scope.user)))

    def check(self, expect: Expect) -> None:
        record = None
        if expect.id is not None:
            record = self._record(expect.id)
        elif expect.key is not None:
            record = self.keyed(expect.key, self.names.number(expect.kind or ""))
        self._check_version(record, expect.version, expect.id or expect.key)

    def _check_version(self, record: int | None, version: int, name: str | None) -> None:
        number = 0
        if record is not None:
            number = max((row.number for row, _ in self._current(record)), default=0)
        if number != version:
            raise Changed(
                f"{name}: version {version} was expected, the store has {number}",
                hint="read it again and repeat the change",
            )

    # -- records

    def _put(self, put: Put) -> Outcome:
        kind = self.names.number(put.kind)
        record = self._target(put, kind)
        if record is None and put.unless_forgotten and put.id in self.forgotten:
            return Outcome(Effect.FORGOTTEN, put.id)
        if record is None:
            record = self.ledger.next
            self._insert(PUT, _Slot(record, put.id, kind, self.scope), 1, put.state, put.content, put.derived)
            self.stored[put.id] = put.id
            self.erasing.along.discard(put.id)
            return Outcome(Effect.CREATED, put.id, 1)
        id = self.id_of(record)
        self.stored[put.id] = id
        rows = self._current(record)
        number = max((row.number for row, _ in rows), default=0) or self._last_number(record)
        plan = meet([believed for _, believed in rows], put.content, put.state, succeeds=put.succeeds, dated=put.dated)
        if plan.state is None:
            return Outcome(Effect.UNCHANGED, id, number)
        self._end(plan.ends)
        slot = _Slot(record, id, kind, self.scope)
        for row, state in plan.keeps:
            number += 1
            kept = next(believed for mine, believed in rows if mine is row)
            self._insert(AMEND, slot, number, state, Content(kept.text, kept.payload, row.salt), row.content)
        self._insert(PUT, slot, number + 1, plan.state, put.content, put.derived)
        return Outcome(Effect.UPDATED, id, number + 1)

    def _target(self, put: Put, kind: int) -> int | None:
        """The record that this put is a version of: by key, else by id."""
        row = self.connection.execute(SQL["record_by_id"], (put.id, self.scope)).fetchone()
        keyed = self.keyed(put.state.key, kind) if put.state.key is not None else None
        if row is None:
            return keyed
        if row[1] != kind:
            raise Conflict(
                f"id {put.id!r} is taken by a record of kind {self.names.text(row[1])!r}",
                hint="leave the id out, or use another",
            )
        if put.state.position is not None and keyed != row[0]:
            raise Conflict(
                f"{put.kind} {put.id!r} has another place", hint="leave the id out: its place is its identity"
            )
        if keyed is not None and keyed != row[0]:
            raise Conflict(
                f"{put.kind} {put.id!r} cannot take a key that another record has",
                hint="update that record instead, or choose another name",
            )
        found: int = row[0]
        return found

    def keyed(self, key: str, kind: int) -> int | None:
        row = self.connection.execute(SQL["record_by_key"], (key, kind, self.scope)).fetchone()
        return None if row is None else row[0]

    def _record(self, id: str) -> int | None:
        row = self.connection.execute(SQL["record_by_id"], (id, self.scope)).fetchone()
        return None if row is None else row[0]

    def find(self, id: str, *, to_change: bool = False, only: Scope | None = None) -> tuple[int, int]:
        """(record, its scope) for an id that this author sees, the narrowest scope first, or in `only` one of them.
        What belongs to all users is changed only by whoever writes for all of them."""
        id = self._stored(id)
        for scope in self.author.scope.readable():
            number = known_scope(self.connection, scope) if only in (None, scope) else None
            if number is None:
                continue
            row = self.connection.execute(SQL["record_by_id"], (id, number)).fetchone()
            if row is not None:
                if to_change and scope.user != self.author.scope.user:
                    raise Denied(f"record {id!r} is shared by all users", hint="change it with shared=True", field="id")
                return row[0], number
        raise NotFound(f"no record {id!r}", hint="`agent-memory list` shows what there is", field="id")

    def _stored(self, id: str) -> str:
        """The id of the record that an earlier put of this write became, or else the id itself."""
        return self.stored.get(id, id)

    def id_of(self, record: int) -> str:
        found: str = self.connection.execute("select id from versions where version = ?", (record,)).fetchone()[0]
        return found

    def _current(self, record: int) -> list[tuple[_Row, Believed[_Row]]]:
        rows = []
        for values in self.connection.execute(SQL["current_versions"], (record,)).fetchall():
            version, number, content, text, payload, salt, key, conversation, position, repository, *rest = values
            status, importance, confidence, source, valid_from, valid_to = rest
            row = _Row(version, number, content, salt)
            state = State(
                valid_from=valid_from,
                valid_to=valid_to,
                key=key,
                conversation_id=label_text(self.connection, conversation),
                position=position,
                repository=label_text(self.connection, repository),
                status=Status(self.names.text(status)),
                importance=importance,
                confidence=confidence,
                source=self.names.text(source),
            )
            rows.append((row, Believed(row, text, payload, state)))
        return rows

    def _last_number(self, record: int) -> int:
        row = self.connection.execute(SQL["last_number"], (record,)).fetchone()
        return row[0] or 0

    def _amend(self, amend: Amend) -> Outcome:
        record, scope = self.find(amend.id, to_change=True)
        rows = self._current(record)
        if not rows:
            raise NotFound(f"record {amend.id!r} has no current version", field="id")
        row, believed = next((one for one in reversed(rows) if one[1].state.valid_from <= self.ledger.at), rows[0])
        changed = {
            name: value
            for name in ("status", "importance", "confidence", "valid_to")
            if (value := getattr(amend, name)) is not None
        }
        state = replace(believed.state, **changed)
        if state.valid_to is not None and state.valid_to <= state.valid_from:
            raise InvalidInput("valid_to: is not after valid_from", field="valid_to")
        number = max(mine.number for mine, _ in rows)
        if state == believed.state:
            return Outcome(Effect.UNCHANGED, self._stored(amend.id), number)
        self._end((row,))
        kind = self.connection.execute("select kind from versions where version = ?", (record,)).fetchone()[0]
        content = Content(believed.text, believed.payload, row.salt)
        self._insert(AMEND, _Slot(record, self._stored(amend.id), kind, scope), number + 1, state, content, row.content)
        return Outcome(Effect.UPDATED, self._stored(amend.id), number + 1)

    def _erase(self, change: Erase) -> Outcome:
        id = self._stored(change.id)
        if id in self.erasing.along:  # named, and gone already with what it was derived from
            return Outcome(Effect.ERASED, id)
        record, scope = self.find(change.id, to_change=True, only=change.scope)
        if change.version is not None:
            self._check_version(record, change.version, id)
        derived = []
        if change.with_derived:
            mine = [one for one in self.author.scope.readable() if one.user == self.author.scope.user]
            scopes = [number for one in mine if (number := known_scope(self.connection, one)) is not None]
            derived = self.erasing.derived(record, self.names.number(DERIVED_FROM), scopes)
        for one in ((record, scope, id), *derived):
            self.erasing.erase(*one)
        self.erasing.along |= {one[2] for one in derived}
        return Outcome(Effect.ERASED, id)

    def _end(self, rows: Sequence[_Row]) -> None:
        self.ending += [row.version for row in rows]
        self.connection.executemany(SQL["end_version"], [(self.ledger.next, row.version) for row in rows])

    def _insert(
        self,
        operation: str,
        slot: _Slot,
        number: int,
        state: State,
        content: Content,
        body: int | Derived,
    ) -> None:
        """A version and its journal line. `body` is where its content is stored already, or what is derived from it."""
        ended, self.ending = self.ending, []
        scope = self.author.scope if slot.scope == self.scope else self.links.scope_of(slot.scope)
        identity = Identity(slot.id, self.names.text(slot.kind), scope, number)
        proof = version_seal(identity, content, state, ended)
        seq = self.ledger.append(operation, slot.scope, slot.record, None, proof)
        if isinstance(body, Derived):
            self.connection.execute(SQL["insert_content"], (seq, content.text, content.payload, content.salt))
        name = self.names.number
        values = (
            seq,
            slot.record,
            slot.id,
            number,
            seq if isinstance(body, Derived) else body,
            slot.scope,
            slot.kind,
            state.key,
            label(self.connection, state.conversation_id),
            state.position,
            label(self.connection, state.repository),
            name(state.status),
            state.importance,
            state.confidence,
            name(state.source),
            state.valid_from,
            state.valid_to,
        )
        self.connection.execute(SQL["insert_version"], values)
        if isinstance(body, Derived):
            self._derive(seq, slot.scope, body)

    def _derive(self, content: int, scope: int, derived: Derived) -> None:
        terms = derived.terms
        self.connection.execute(SQL["insert_words"], (content, terms.length, terms.hashes + terms.counts))
        for name, value in derived.fields:
            number = self.names.number(name)
            self.connection.execute(SQL["insert_field"], (number, value, content))
        if self.spaces is None:
            self.spaces = self._spaces()
        for space, active in self.spaces:
            made = derived.vectors if active == derived.space else ()
            first = content * VECTORS_PER_LINE
            self.connection.executemany(
                SQL["insert_vector"],
                [sealed(first + v.part, space, scope, content, v.part, v.start, v.end, v.scale, v.data) for v in made],
            )
            if not (made and derived.complete):
                self.connection.execute(SQL["insert_pending"], (content, space, scope, len(made)))

    def _spaces(self) -> list[tuple[int, Space]]:
        """The active space, and one that is being built beside it."""
        rows = self.connection.execute(SQL["spaces"]).fetchall()
        return [(number, Space(model, version, dimension)) for number, model, version, dimension, _ in rows]
