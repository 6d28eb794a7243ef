"""What this database shows `verify` (`ledger/proof.py`): its rows in order, streamed, and loose ends between tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import psycopg

from agent_memory.engines.postgres.connection import PostgresSession, Row
from agent_memory.engines.postgres.statements import PACKAGE
from agent_memory.ledger import proof
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
from agent_memory.ledger.journal import OF_TENANTS, Line
from agent_memory.ledger.rows import LinkRow, RecordPlace
from agent_memory.ledger.statements import load
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Verified, VersionState
from agent_memory.ports.records import Checker

LOOSE = load(PACKAGE, "loose")
SEALED = {
    "vectors": ("line", "place", "space", "scope", "content", "part", "start", "end", "scale", "data"),
    "receipts": ("id", "user", "agent", "at", "seq", "terms", "body", "told"),
    "answers": ("scope", "key", "request", "at", "answer"),
}
"""Rows that no journal line seals, and the columns that their checksum is over."""

_TOLD = ("vectors", "receipts")


def verify(session: PostgresSession, asked: proof.ProofRequest, derive: Checker | None = None) -> Verified:
    session.take_your_time()
    return proof.verify(_Evidence(session, asked), asked, derive)


class _Journals:
    """A `row` is (tenant, number)."""

    def __init__(self, session: PostgresSession, asked: proof.ProofRequest) -> None:
        self._session = session
        self._asked = asked
        self._scope = lru_cache(4096)(_scope)

    def journals(self) -> Iterator[JournalStart]:
        for begun in map(JournalStart._make, self._session.rows("proof_tenants")):
            if not self._asked.alone or begun.tenant == self._asked.tenant:
                yield begun

    def tenants(self) -> Iterable[Sequence[Any]]:
        return self._session.rows("told_of_tenants", {"operations": [*OF_TENANTS]})

    def lines(self) -> Iterator[LineRow]:
        for tenant, seq, at, operation, number, name, user, agent, *rest, erased in self._rows("proof_lines"):
            line = Line(seq, at, operation, self._scope(name, user, agent), *rest)
            yield LineRow((tenant, seq), tenant, number, line, erased)

    def versions(self) -> Iterator[VersionAt]:
        for tenant, version, record, id, name, user, agent, kind, number, *said in self._rows("proof_versions"):
            *state, text, encoded, codec, payload, salt = said
            body = None if payload is None else StoredBody(encoded if codec else text, codec, payload, salt)
            place = RecordPlace(record, id, self._scope(name, user, agent))
            yield VersionAt((tenant, version), place, kind, number, VersionState(*state), body)

    def ended_versions(self) -> Iterator[EndedAt]:
        for tenant, ended, version, record in self._rows("proof_ended_versions"):
            yield EndedAt((tenant, ended), version, record)

    def links(self) -> Iterator[LinkAt]:
        return self._links("link")

    def ended_links(self) -> Iterator[LinkAt]:
        return self._links("ended")

    def _links(self, name: str) -> Iterator[LinkAt]:
        for tenant, line, link, source, target, type, whose, user, agent, *rest in self._rows("proof_links", row=name):
            yield LinkAt((tenant, line), LinkRow(link, source, target, type, self._scope(whose, user, agent), *rest))

    def tombstones(self) -> Iterator[GoneAt]:
        for tenant, line, record, id, *scope in self._rows("proof_tombstones"):
            yield GoneAt((tenant, line), RecordPlace(record, id, self._scope(*scope)))

    def common(self) -> Iterator[CommonAt]:
        """Only files of 0.1 had one journal for all, and such a file may have come here."""
        for *said, digest, old in self._session.stream("proof_common"):
            yield CommonAt(said, digest, old)

    def _rows(self, name: str, **filled: str) -> Iterator[Row]:
        """Of all journals, or of the one that is asked for; nothing where that is not there."""
        tenant = next((one.journal for one in self.journals()), -1) if self._asked.alone else None
        return self._session.stream(name, {"tenant": tenant}, **filled)


class _Evidence(_Journals):
    def missing(self) -> None:
        """Nothing numbers the lines of all journals together."""

    def contents(self) -> Iterator[ContentAt]:
        for tenant, content, kind, text, encoded, codec, *rest in self._session.stream("proof_contents"):
            payload, vocabulary, length, terms = rest
            said = encoded if codec else text
            yield ContentAt((tenant, content), kind, said, codec, payload, vocabulary or "", length, terms)

    def fields(self) -> Iterator[FieldAt]:
        for tenant, content, name, word, number in self._session.stream("proof_fields"):
            yield FieldAt((tenant, content), name, number if word is None else word)

    def vectors(self) -> Iterator[VectorAt]:
        for *place, scale, data, dimension in self._session.stream("proof_vectors"):
            yield VectorAt(tuple(place), scale, data, dimension, True)

    def keys(self) -> Iterable[Sequence[object]]:
        return self._session.stream("keys")

    def active(self) -> Sequence[str]:
        return [space for (space,) in self._session.rows("active_spaces")]

    def beside(self) -> Iterator[Sealed]:
        for table, columns in SEALED.items():
            yield Sealed(table, columns, self._session.stream(f"sealed_{table}"), table in _TOLD)

    def own(self) -> Mapping[str, Callable[[], Iterable[str]]]:
        return {name: lambda name=name, sql=sql: self._loose(name, sql) for name, sql in LOOSE.items()}  # type: ignore[misc]

    def unreadable(self, error: Exception) -> bool:
        return isinstance(error, psycopg.errors.DataError | psycopg.errors.InternalError)

    def _loose(self, name: str, sql: str) -> Iterator[str]:
        loose = self._session.connection.execute(sql.encode(), binary=True).fetchall()
        if loose:
            yield f"{name}: {len(loose)} (first: {loose[0][0]})"


def _scope(tenant: str | None, user: str | None, agent: str | None) -> Scope:
    """None where it is not there: it is compared, and never read."""
    known: Any = None if tenant is None or user is None else Scope.trusted(tenant=tenant, user=user, agent=agent)
    return cast(Scope, known)
