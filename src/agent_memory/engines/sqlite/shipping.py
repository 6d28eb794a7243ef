"""The `Shipping` port on SQLite: rows leave it in words, and words and numbers of journals become the file's own."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from agent_memory.engines.sqlite import namespaces
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning, Naming, label, scope_number
from agent_memory.engines.sqlite.journal import STORE
from agent_memory.engines.sqlite.proof import MARK
from agent_memory.engines.sqlite.schema import newest
from agent_memory.engines.sqlite.statements import SQL, VECTORS_PER_LINE, cell
from agent_memory.ledger import reading
from agent_memory.ledger.journal import NAMES, NOBODYS, genesis
from agent_memory.ledger.quantise import requantised, restored
from agent_memory.ledger.request import SALT_BYTES
from agent_memory.ledger.seals import checksum, sealed
from agent_memory.ledger.shipment import FILLING, check_mark, occupied, unfilled, whole
from agent_memory.ledger.tenants import TenantHistory, unaccounted
from agent_memory.models.record import Scope
from agent_memory.ports.shipping import Cells, Show

COMMON = "common"


class SqliteShipping:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    @contextmanager
    def showing(self, tenant: str | None = None) -> Iterator[Show]:
        with self._connections.reading() as connection:

            def show(section: str) -> Iterator[Cells]:
                rows = connection.execute(SQL[f"show_{section}"], {"tenant": tenant})
                if section == "reads":
                    return reading.shipped(text for (text,) in rows)
                return map(_SHOWN[section], rows) if section in _SHOWN else rows

            yield show

    def mark(self) -> str | None:
        with self._connections.reading() as connection:
            return _mark(connection)

    def begin(self, mark: str) -> None:
        with self._connections.writing() as connection:
            if cell(connection, SQL["holds_anything"]):
                raise occupied(self._connections.name)
            _empty(connection)
            _note(connection, MARK, mark)
            connection.execute(f"pragma user_version = {FILLING + newest()}")

    def take(self, rows: Sequence[tuple[str, Sequence[Cells]]], mark: str, *, after: str) -> None:
        with self._connections.writing() as connection:
            self._check(connection, after)
            taking = _Taking(connection)
            for section, several in rows:
                taking.take(section, several)
                if section == "store":  # it tells of tenants that are gone; those that come get other numbers
                    connection.execute(SQL["used_tenants"])
            _note(connection, MARK, mark)

    def finish(self, *, after: str) -> None:
        with self._connections.writing() as connection:
            self._check(connection, after)
            for scope, last in connection.execute(SQL["lasts"]).fetchall():
                *row, _, _ = connection.execute(SQL["scope_row"], (scope,)).fetchone()
                connection.execute(SQL["touch_scope"], (last, checksum(*row, last), scope))
            _leave_room(connection)
            connection.execute(SQL["drop_meta"], (COMMON,))

    def open(self, *, after: str) -> None:
        with self._connections.writing() as connection:
            self._check(connection, after)
            connection.execute(SQL["drop_meta"], (MARK,))
            connection.execute(f"pragma user_version = {newest()}")

    def abandon(self) -> None:
        with self._connections.writing() as connection:
            if _mark(connection) is None:
                raise unfilled(self._connections.name)
            _empty(connection)
            salt = secrets.token_bytes(SALT_BYTES)
            connection.execute(SQL["insert_store"], (0, salt, genesis(salt, None)))
            connection.execute(f"pragma user_version = {newest()}")

    def _check(self, connection: sqlite3.Connection, after: str) -> None:
        check_mark(_mark(connection), after, self._connections.name)


def _mark(connection: sqlite3.Connection) -> str | None:
    found: str | None = cell(connection, SQL["get_meta"], (MARK,))
    return found


def _empty(connection: sqlite3.Connection) -> None:
    for (table,) in connection.execute(SQL["tables"]).fetchall():
        connection.execute(SQL["empty"].format(table=table))
    connection.execute(SQL["empty"].format(table="sqlite_sequence"))


def _note(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute(SQL["put_meta"], sealed(name, value))


def _leave_room(connection: sqlite3.Connection) -> None:
    """Lines of a file are numbered without a gap, but for as many as went with tenants that were erased: so many are
    left out before the last line, which is the store's own, and which no row is known by."""
    told = TenantHistory()
    for operation, *said in connection.execute(SQL["told_of_tenants"]):
        told.hear(NAMES[operation], *said)
    missing = [range(*between) for between in connection.execute(SQL["lost_lines"])]
    if told.departed and (room := unaccounted(missing, told)) > 0:
        connection.execute(SQL["move_last"], (room,))


class _Taking:
    """Rows of one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.names = Naming(Interning(), connection)
        self.line = cache(self._line)
        self.scope = cache(self._scope)
        self.label = cache(self._label)
        self.space = cache(lambda name: cell(connection, SQL["space_of"], (name,)))

    def take(self, section: str, rows: Sequence[Cells]) -> None:
        if section == "reads":
            rows = [(number, *page) for number, page in reading.received(rows)]
        each: Callable[..., None] = getattr(self, f"_{section}")
        for row in rows:
            each(*row)

    def _put(self, statement: str, *cells: Any) -> None:
        self.connection.execute(SQL[statement], cells)

    def _cell(self, statement: str, *cells: Any) -> Any:
        return cell(self.connection, SQL[statement], cells)

    def _line(self, tenant: str, seq: int | None) -> int | None:
        return None if seq is None else self._cell("line_of", self.names.tenant(tenant), seq)

    def _scope(self, tenant: str, number: int) -> int:
        found: int = self._cell("scope_within", tenant, number)
        return found

    def _label(self, tenant: str, text: str | None) -> int | None:
        return None if text is None else label(self.connection, self.names.tenant(tenant), text)

    def _name(self, tenant: str, text: str) -> int:
        return self.names.number(self.names.tenant(tenant), text)

    def _common(self, line: int, value: bytes) -> None:
        _note(self.connection, COMMON, str(line))

    def _meta(self, name: str, value: str) -> None:
        _note(self.connection, name, value)

    def _vocabularies(self, number: int, name: str, digest: str, active: bool) -> None:
        self._put("put_vocabulary", *sealed(number, name, digest, int(active)))

    def _spaces(self, model: str, version: str, dimension: int, active: bool) -> None:
        self._put("put_space", *sealed(self._cell("next_space"), model, version, dimension, int(active)))

    def _places(self, name: str, error: str | None) -> None:
        self._put("take_place", *sealed(self._cell("next_place"), name, error))

    def _tenants(self, *row: Any) -> None:
        self._put("take_tenant", *row)

    def _scopes(self, tenant: str, number: int, user: str, agent: str, old: int | None) -> None:
        scope = self._cell("take_scope", old, tenant, user, agent, number)
        self._put("seal_scope", checksum(scope, tenant, user, agent, number), scope)

    def _journal(self, tenant: str, seq: int, at: int, operation: int, scope: int | None, *rest: Any) -> None:
        record, other, *said = rest
        whose, line = self.names.tenant(tenant), self._next(seq, rest[-1])
        known = NOBODYS if scope is None else self.scope(tenant, scope)
        ends = (line if one == seq else self.line(tenant, one) for one in (record, other))
        self._append(line, (whose, seq, at, operation, known, *ends), said)

    def _store(self, seq: int, at: int, operation: int, record: int | None, other: int | None, *said: Any) -> None:
        self._append(self._next(seq, said[-1]), (STORE, seq, at, operation, NOBODYS, record, other), said)

    def _next(self, seq: int, old: bytes | None) -> int:
        """What all tenants had one journal for keeps its numbers; all others follow."""
        last = int(self._cell("get_meta", COMMON) or 0)
        return seq if old is not None else max(self._cell("last_line"), last) + 1

    def _append(self, line: int, told: Cells, said: Sequence[Any]) -> None:
        actor, *rest = said
        self._put("take_line", line, *told, self.names.actor(told[0], actor), *rest)

    def _contents(self, tenant: str, content: int, text: str | None, encoded: bytes | None, *rest: Any) -> None:
        codec, payload, salt, *words = rest
        line = self.line(tenant, content)
        self._put("take_content", line, text if codec is None else encoded, codec, payload, salt)
        self._put("take_words", line, *words)

    def _fields(self, tenant: str, content: int, name: str, value: Any) -> None:
        self._put("insert_field", self._name(tenant, name), value, self.line(tenant, content))

    def _versions(self, tenant: str, version: int, record: int, id: str, number: int, content: int, *rest: Any) -> None:
        scope, kind, key, conversation, position, repository, status, importance, confidence, source, *times = rest
        *valid, ended = times
        self._put(
            "insert_version",
            *(self.line(tenant, version), self.line(tenant, record), id, number, self.line(tenant, content)),
            *(self.scope(tenant, scope), self._name(tenant, kind), key, self.label(tenant, conversation), position),
            *(self.label(tenant, repository), self._name(tenant, status), importance, confidence),
            *(self._name(tenant, source), *valid, self.line(tenant, ended)),
        )

    def _links(self, tenant: str, link: int, source: int, target: int, type: str, scope: int, *rest: Any) -> None:
        *said, ended = rest
        lines = (self.line(tenant, one) for one in (link, source, target))
        kind, whose = self._name(tenant, type), self.scope(tenant, scope)
        self._put("insert_link", *lines, kind, whose, *said, self.line(tenant, ended))

    def _tombstones(self, tenant: str, record: int, id: str, scope: int, line: int) -> None:
        self._put("insert_tombstone", self.line(tenant, record), id, self.scope(tenant, scope), self.line(tenant, line))

    def _vectors(self, tenant: str, line: int, place: int, space: str, scope: int, content: int, *rest: Any) -> None:
        number = (self.line(tenant, line) or 0) * VECTORS_PER_LINE + place
        whose = self.space(space), self.scope(tenant, scope), self.line(tenant, content)
        self._put("insert_vector", *sealed(number, *whose, *rest))

    def _pending(self, tenant: str, content: int, space: str, scope: int, part: int) -> None:
        self._put("insert_pending", self.line(tenant, content), self.space(space), self.scope(tenant, scope), part)

    def _answers(self, tenant: str, scope: int, *rest: Any) -> None:
        self._put("insert_answer", *sealed(self.scope(tenant, scope), *rest))

    def _receipts(self, tenant: str, id: str, user: str, agent: str, *rest: Any) -> None:
        *said, told = rest
        records = sorted(self.line(tenant, one) or 0 for one in told)
        columns = (self._cell("next_receipt"), id, self._desk(tenant, user, agent), *said)
        self._put("insert_receipt", *columns, checksum(*columns, records))
        for record in records:
            self._put("insert_shown", record, columns[0])

    def _accesses(self, tenant: str, record: int, *rest: Any) -> None:
        self._put("put_accesses", *sealed(self.line(tenant, record), *rest))

    def _accessed(self, tenant: str, record: int, *rest: Any) -> None:
        self._put("put_accessed", *sealed(self.line(tenant, record), *rest))

    def _values(self, tenant: str, user: str, agent: str, *rest: Any) -> None:
        self._put("working_set", *sealed(self._desk(tenant, user, agent), *rest))

    def _lists(self, tenant: str, user: str, agent: str, conversation: str, name: str, *rest: Any) -> None:
        _, *said = rest
        item = self._cell("last_item") + 1
        self._put("list_push", *sealed(item, self._desk(tenant, user, agent), conversation, name, *said))

    def _desk(self, tenant: str, user: str, agent: str) -> int:
        return scope_number(self.connection, Scope.trusted(tenant=tenant, user=user, agent=agent))

    def _namespaces(self, namespace: str, id: str, vector: bytes, metadata: str, model: str | None) -> None:
        import numpy as np

        row = (namespace, id, *requantised(np.frombuffer(vector, "<f4")), metadata)
        self._put("namespace_upsert", *row, model, namespaces.seal(row, model))

    def _scores(self, *row: Any) -> None:
        self._put("take_score", *sealed(*row))

    def _missed(self, place: str, namespace: str, id: str, turn: int, at: int) -> None:
        number = self._cell("place_of", place)
        self._put("put_missed", *sealed(number, namespace, id, self._cell("next_missed", number), at))

    def _cursors(self, tenant: str, job: str, *rest: Any) -> None:
        self._put("put_cursor", *sealed(job, tenant, *rest))

    def _debts(self, place: str, *rest: Any) -> None:
        self._put("incur", *sealed(self._cell("place_of", place), *rest))

    def _keys(self, *row: Any) -> None:
        self._put("insert_key", *row)

    def _refusals(self, *row: Any) -> None:
        self._put("insert_refusal", *sealed(*row))

    def _reads(self, *row: Any) -> None:
        self._put("put_reads", *sealed(*row))

    def _spending(self, *row: Any) -> None:
        self._put("put_spent", *sealed(*row))

    def _budgets(self, *row: Any) -> None:
        self._put("put_budget", *sealed(*row))


def _flag(row: Any) -> Cells:
    *said, active = row
    return (*said, bool(active))


def _field(row: Any) -> Cells:
    *said, value = row
    return (*said, value if isinstance(value, str) else whole(value))


def _receipt(row: Any) -> Cells:
    *said, told = row
    return (*said, json.loads(told))


def _namespace(row: Any) -> Cells:
    namespace, id, scale, data, *rest = row
    return namespace, id, restored(scale, data).astype("<f4").tobytes(), *rest


_SHOWN: dict[str, Callable[[Any], Cells]] = {
    "vocabularies": _flag,
    "spaces": _flag,
    "fields": _field,
    "receipts": _receipt,
    "namespaces": _namespace,
}
"""What is not stored as it is told."""
