"""The read step of a write: what the ledger wants to know, found under the write lock."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from agent_memory.engines.sqlite import vocabulary
from agent_memory.engines.sqlite.feed import SqliteJobs
from agent_memory.engines.sqlite.interning import Naming
from agent_memory.engines.sqlite.journal import Lines
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger.codecs import plain
from agent_memory.ledger.rows import (
    BelievedRecord,
    Descent,
    KeptAnswer,
    LinkRow,
    Present,
    RecordPlace,
    StoredVersion,
    Wanted,
)
from agent_memory.models.errors import Corrupt
from agent_memory.models.record import SHARED, Scope, Status
from agent_memory.ports.changes import DERIVING, Content, VersionState
from agent_memory.ports.embedder import Space

NUL = "\0"  # where SQLite ends a string in JSON


class SqliteLook:
    """At what a tenant has. `scopes` are the rows of those that a write may name."""

    def __init__(self, connection: sqlite3.Connection, names: Naming, lines: Lines) -> None:
        self.connection = connection
        self.names = names
        self.lines = lines
        self.scopes: dict[Scope, int] = {}

    def present(self, wanted: Wanted, spaces: tuple[Space, ...]) -> Present:
        self.scopes = {scope: self.names.scope(scope) for scope in wanted.authors}
        for scope in wanted.ids:
            if scope not in self.scopes and (number := self.names.known_scope(scope)):
                self.scopes[scope] = number
        records = tuple(held for scope in self.scopes for held in self.records(scope, wanted))
        follow = records and (wanted.types or wanted.deriving)
        rows = {self.lines[held.place.record]: held.place.record for held in records} if follow else {}
        descents, rooted = self.derivation(rows, wanted.deriving) if wanted.deriving and records else ((), ())
        return Present(
            self.lines.head,
            {scope: self.names.within(scope) for scope in self.scopes},
            records,
            tuple(self.links(rows, wanted.types)) if wanted.types and records else (),
            tuple(descents),
            frozenset(rooted),
            frozenset(self.forgotten(wanted.forgotten)),
            dict(self.answers(wanted.answers)),
            spaces,
            {work: SqliteJobs(self.connection).standing(work) for work in wanted.works},
            vocabulary.written(self.connection),
        )

    def records(self, scope: Scope, wanted: Wanted) -> Iterator[BelievedRecord]:
        ids, keys = wanted.ids.get(scope, ()), wanted.keys.get(scope, ())
        if not ids and not keys:
            return
        number, told = self.scopes[scope], set(wanted.told.get(scope, ()))
        alone = not keys and len(ids) == 1  # most often one that is new
        if alone and not self.connection.execute(SQL["believed_id"], (*ids, number)).fetchone():
            return
        pairs = [(self.names.known(self.lines.tenant, kind), key) for kind, key in keys]
        for kind, key in [pair for pair in pairs if NUL in pair[1]]:
            told |= {id for (id,) in self.connection.execute(SQL["id_by_key"], (key, kind, number))}
        asked = {"scope": number, "ids": _listed({*ids, *told}), "told": _listed(told), "keys": _listed(pairs)}
        rows = self.connection.execute(SQL["held"], asked)
        for (record, seq, id, kind), versions in groupby(rows, lambda row: row[:4]):
            stored = tuple(self._stored(*row[4:]) for row in versions)
            yield BelievedRecord(RecordPlace(self.lines.read(record, seq), id, scope), self.names.text(kind), stored)

    def _stored(self, row: int, seq: int | None, number: int, *said: Any) -> StoredVersion:
        place, brought, text, codec, payload, salt, key, conversation, position, repository, *rest = said
        status, importance, confidence, source, valid_from, valid_to = rest
        version, content = self.lines.read(row, seq), self.lines.read(place, brought)
        if text is None:
            return StoredVersion(version, number, content, None, VersionState(valid_from, key=key))
        state = VersionState(
            valid_from=valid_from,
            valid_to=valid_to,
            key=key,
            conversation_id=conversation,
            position=position,
            repository=repository,
            status=Status(self.names.text(status)),
            importance=importance,
            confidence=confidence,
            source=self.names.text(source),
        )
        try:
            body = Content(plain(text, codec), payload, salt)
        except (TypeError, ValueError):
            raise Corrupt(f"content {content} cannot be read", hint="`agent-memory verify` names the damage") from None
        return StoredVersion(version, number, content, body, state)

    def links(self, records: Mapping[int, int], types: Iterable[str]) -> Iterator[LinkRow]:
        """Those that stand between two of these records (line -> number), in a scope that the writer may name."""
        scopes = {number: scope for scope, number in self.scopes.items()}
        kinds = {self.names.known(self.lines.tenant, type): type for type in types}
        asked = {"records": _listed(records), "types": _listed(kinds), "scopes": _listed(scopes)}
        for link, seq, source, target, type, scope, *rest in self.connection.execute(SQL["standing"], asked).fetchall():
            ends = (records[source], records[target], kinds[type])
            yield LinkRow(self.lines.read(link, seq), *ends, scopes[scope], *rest)

    def derivation(self, records: Iterable[int], users: Collection[str]) -> tuple[list[Descent], list[int]]:
        """What was ever derived from these records, and which of all of them have a source elsewhere."""
        asked = {
            "records": _listed(records),
            "users": _listed(users),
            "everybody": SHARED in users,
            "types": _listed(self.names.known(self.lines.tenant, one) for one in DERIVING),
        }
        descents = [
            Descent(
                RecordPlace(self.lines.read(record, seq), id, self.names.scope_of(whose)),
                self.names.text(kind),
                self.lines.read(target, end),
                self.names.scope_of(scope),
                bool(stands),
            )
            for record, seq, id, whose, kind, target, end, scope, stands in self.connection.execute(
                SQL["descents"], asked
            ).fetchall()
        ]
        self.scopes |= {one.source.scope: self.names.scope(one.source.scope) for one in descents}
        return descents, [record for (record,) in self.connection.execute(SQL["rooted"], asked)]

    def forgotten(self, asked: Mapping[tuple[str, str], Iterable[str]]) -> Iterator[tuple[str, str, str]]:
        for (tenant, user), ids in asked.items():
            whose = {"tenant": tenant, "user": user, "ids": _listed(ids)}
            yield from ((tenant, user, id) for (id,) in self.connection.execute(SQL["forgotten"], whose))

    def answers(self, asked: Iterable[tuple[Scope, str]]) -> Iterator[tuple[tuple[Scope, str], KeptAnswer]]:
        for scope, key in asked:
            if row := self.connection.execute(SQL["answer"], (self.scopes[scope], key)).fetchone():
                yield (scope, key), KeptAnswer(*row)


def _listed(values: Iterable[object]) -> str:
    """For `json_each`."""
    made = list(values)
    return json.dumps(made) if made else "[]"
