"""What this file shows `verify` (`ledger/proof.py`): its rows in order, and what only SQLite can have wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from agent_memory.engines.sqlite import vocabulary
from agent_memory.engines.sqlite.cells import count, lenient, misplaced
from agent_memory.engines.sqlite.statements import PACKAGE, SQL
from agent_memory.ledger import proof, reading, spending
from agent_memory.ledger.evidence import (
    CommonAt,
    ContentAt,
    EndedAt,
    FieldAt,
    GoneAt,
    JournalStart,
    LineRow,
    LinkAt,
    Sealed,
    StoredBody,
    VectorAt,
    VersionAt,
)
from agent_memory.ledger.journal import Line
from agent_memory.ledger.rows import LinkRow, RecordPlace
from agent_memory.ledger.sound import garbled, row_named
from agent_memory.ledger.statements import load
from agent_memory.models.record import Scope, Status
from agent_memory.ports.changes import Verified, VersionState
from agent_memory.ports.progress import counted
from agent_memory.ports.records import Checker

LOOSE = load(PACKAGE, "loose")
SEALED = {
    "meta": ("name", "value"),
    "scopes": ("scope", "tenant", "user", "agent", "number", "last"),
    "spaces": ("space", "model", "version", "dimension", "active"),
    "vocabularies": ("vocabulary", "name", "digest", "active"),
    "vectors": ("vector", "space", "scope", "content", "part", "start", "end", "scale", "data"),
    "receipts": ("receipt", "id", "scope", "at", "seq", "terms", "body"),
    "accesses": ("record", "count", "last"),
    "accessed": ("record", "at", "times"),
    "working": ("scope", "conversation", "key", "value", "expires_at"),
    "lists": ("item", "scope", "conversation", "name", "value", "expires_at"),
    "repeats": ("scope", "key", "request", "at", "answer"),
    "namespaces": ("namespace", "id", "scale", "data", "metadata", "model"),
    "scores": ("namespace", "id", "score", "at"),
    "missed": ("place", "namespace", "id", "number", "at"),
    "leases": ("name", "token", "holder", "since", "until", "ran_at", "seconds", "did", "failed_at", "error"),
    "cursors": ("job", "tenant", "seq", "chain", "turn"),
    "places": ("place", "name", "error"),
    "debts": ("place", "tenant", "user", "agent", "id", "seq", "at"),
    "spending": tuple(spending.COLUMNS.split()),
    "budgets": tuple(spending.LIMITS.split()),
    "refusals": ("number", "at", "tenant", "user", "operation", "reason", "key"),
    "reads": ("number", *reading.COLUMNS.split()),
}
"""Rows that no journal line seals, and the columns that their checksum is over. That of a receipt is also over the
records that it showed; that of a scope without a last line, or a vector without a model, is over the rest."""

_TOLD = ("vectors", "receipts")  # whose numbers are told by name; the others are counted together
_META = {"accessed", "scrub"}
MARK = "migrating"  # in `meta`, while the file is being filled: how far that is


def verify(connection: sqlite3.Connection, asked: proof.ProofRequest, derive: Checker | None = None) -> Verified:
    with lenient(connection):
        return proof.verify(_Evidence(connection, asked), asked, derive)


class _Journals:
    """A `row` is a line of the file."""

    def __init__(self, connection: sqlite3.Connection, asked: proof.ProofRequest) -> None:
        self._connection = connection
        self._asked = asked
        self._scope = lru_cache(4096)(_scope)

    def journals(self) -> Iterator[JournalStart]:
        for begun in map(JournalStart._make, self._connection.execute(SQL["all_tenants"]).fetchall()):
            if not self._asked.alone or begun.tenant == self._asked.tenant:
                yield begun

    def tenants(self) -> Iterable[Sequence[Any]]:
        return self._connection.execute(SQL["told_of_tenants"]).fetchall()

    def lines(self) -> Iterator[LineRow]:
        rows = self._rows("proof_lines")
        for row in counted(rows, "journal", lambda: count(self._connection, "journal")):
            line, journal, number, seq, at, operation, tenant, user, agent, *rest, erased = row
            scope = self._scope(tenant, user, agent)
            yield LineRow(line, journal, number, Line(seq, at, operation, scope, *rest), bool(erased))

    def versions(self) -> Iterator[VersionAt]:
        names = self._names()
        for row in self._rows("proof_versions"):
            version, record, id, tenant, user, agent, kind, number, *said, text, codec, payload, salt = row
            begins, ends, key, conversation, position, repository, status, importance, confidence, source = said
            known = (begins, ends, key, conversation, position, repository, cast(Status, names.get(status, "")))
            state = VersionState(*known, importance, confidence, names.get(source, ""))
            place = RecordPlace(record, id, self._scope(tenant, user, agent))
            body = None if text is None or tenant is None else StoredBody(text, codec, payload, salt)
            yield VersionAt(version, place, names.get(kind, ""), number, state, body)

    def ended_versions(self) -> Iterator[EndedAt]:
        return map(EndedAt._make, self._rows("proof_ended_versions"))

    def links(self) -> Iterator[LinkAt]:
        return self._links("link")

    def ended_links(self) -> Iterator[LinkAt]:
        return self._links("to_seq")

    def _links(self, name: str) -> Iterator[LinkAt]:
        for row in self._rows("proof_links", row=name):
            line, link, source, target, type, tenant, user, agent, *rest = row
            yield LinkAt(line, LinkRow(link, source, target, type, self._scope(tenant, user, agent), *rest))

    def tombstones(self) -> Iterator[GoneAt]:
        for line, record, id, *scope in self._rows("proof_tombstones"):
            yield GoneAt(line, RecordPlace(record, id, self._scope(*scope)))

    def common(self) -> Iterator[CommonAt]:
        for *said, digest, old in self._connection.execute(SQL["proof_common"]):
            yield CommonAt(said, digest, old)

    def missing(self) -> Iterator[range]:
        return (range(*between) for between in self._connection.execute(SQL["lost_lines"]))

    def _rows(self, name: str, **names: str) -> Iterator[Any]:
        """Of all journals, or of the one that is asked for; nothing where that is not there."""
        tenant = next((one.journal for one in self.journals()), -1) if self._asked.alone else None
        return self._connection.execute(SQL[name].format(**names), {"tenant": tenant})

    def _names(self) -> dict[object, str]:
        """What this process remembers of names proves nothing: as the file has them now."""
        return dict(self._connection.execute(SQL["all_names"]).fetchall())


class _Evidence(_Journals):
    def contents(self) -> Iterator[ContentAt]:
        names = vocabulary.names(self._connection)
        rows = self._connection.execute(SQL["proof_contents"])
        for row in counted(rows, "contents", lambda: count(self._connection, "contents")):
            content, kind, text, codec, payload, number, length, terms = row
            yield ContentAt(content, kind, text, codec, payload, names.get(number, ""), length, terms)

    def fields(self) -> Iterator[FieldAt]:
        names = self._names()
        for content, name, value in self._connection.execute(SQL["proof_fields"]):
            yield FieldAt(content, names.get(name, ""), value)

    def vectors(self) -> Iterator[VectorAt]:
        return map(VectorAt._make, self._connection.execute(SQL["proof_vectors"]))

    def keys(self) -> Iterable[Sequence[object]]:
        return self._connection.execute(SQL["keys"])

    def active(self) -> Sequence[str]:
        return [space for (space,) in self._connection.execute(SQL["active_spaces"])]

    def beside(self) -> Iterator[Sealed]:
        for table, columns in SEALED.items():
            names = ", ".join(f'"{column}"' for column in (*columns, "seal"))
            rows: Iterable[Sequence[object]]
            rows = self._connection.execute(SQL["rows_of"].format(table=table, columns=names))
            if table == "receipts":
                rows = self._with_shown(rows)
            elif table in ("scopes", "namespaces"):
                rows = ((*row, seal) if last is None else (*row, last, seal) for *row, last, seal in rows)
            rows = counted(rows, table, lambda table=table: count(self._connection, table))  # type: ignore[misc]
            yield Sealed(table, columns, rows, table in _TOLD)

    def _with_shown(self, rows: Iterable[Sequence[object]]) -> Iterator[Sequence[object]]:
        for receipt, *columns, seal in rows:
            shown = [record for (record,) in self._connection.execute(SQL["shown_by"], (receipt,))]
            yield (receipt, *columns, shown, seal)

    def own(self) -> Mapping[str, Callable[[], Iterable[str]]]:
        connection = self._connection
        return {
            "columns": lambda: misplaced(connection),
            **{name: lambda name=name, sql=sql: _loose(connection, name, sql) for name, sql in LOOSE.items()},  # type: ignore[misc]
            "names": lambda: _unnamed(connection),
            "meta": lambda: _unknown(connection),
            "file": lambda: _unsound_pages(connection),
        }

    def unreadable(self, error: Exception) -> bool:
        code = getattr(error, "sqlite_errorcode", None)
        return isinstance(error, sqlite3.Error) and code != sqlite3.SQLITE_INTERRUPT


def _scope(tenant: str | None, user: str, agent: str) -> Scope:
    """None where it is not there: it is compared, and never read."""
    return cast(Scope, None if tenant is None else Scope.trusted(tenant=tenant, user=user, agent=agent))


def _loose(connection: sqlite3.Connection, name: str, sql: str) -> Iterator[str]:
    loose = [number for (number,) in connection.execute(sql)]
    if loose:
        yield f"{name}: {len(loose)} (first: {loose[0]})"


def _unknown(connection: sqlite3.Connection) -> Iterator[str]:
    for name, value in connection.execute(SQL["all_meta"]):
        if name not in (MARK, spending.ZONE) and (name not in _META or not str(value).removeprefix("-").isdecimal()):
            yield f"meta: {row_named(('name',), (name,))} is unknown, or its value is not a number"


def _unnamed(connection: sqlite3.Connection) -> Iterator[str]:
    for table, key in (("names", "name"), ("labels", "label"), ("actors", "actor")):
        for number, text in connection.execute(SQL[f"all_{table}"]):
            if wrong := garbled(("text",), (text,)):
                yield f"{table}: {key} {number}{wrong}"


def _unsound_pages(connection: sqlite3.Connection) -> Iterator[str]:
    return (f"file: {text}" for (text,) in connection.execute("pragma integrity_check(5)") if text != "ok")
