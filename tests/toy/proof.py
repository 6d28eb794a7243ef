"""What the toy shows `verify`: its rows, tenant by tenant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

from tests.toy.shop import Shop
from tests.toy.tables import Tables

from agent_memory.ledger.evidence import (
    ContentAt,
    EndedAt,
    FieldAt,
    GoneAt,
    JournalStart,
    LineRow,
    LinkAt,
    StoredBody,
    VersionAt,
)
from agent_memory.ledger.journal import OF_TENANTS
from agent_memory.ledger.keys import cells
from agent_memory.ledger.proof import ProofRequest


class ToyEvidence:
    """A `row` is a tenant's number and the seq. Rows in memory have no checksums and no damage of their own."""

    def __init__(self, shop: Shop, asked: ProofRequest) -> None:
        self.shop = shop
        mine = [name for name in shop.tenants if not asked.alone or name == asked.tenant]
        self._tenants = {name: shop.of(name) for name in sorted(mine, key=lambda name: shop.tenants[name].number)}
        self.whole = not asked.alone or asked.tenant is None
        self.common = self.vectors = self.beside = lambda: ()
        self.own, self.unreadable = dict, lambda error: False

    def journals(self) -> Iterator[JournalStart]:
        if self.whole:
            yield JournalStart(0, None, 0, self.shop.salt, self.shop.beginning)
        for name, one in self._tenants.items():
            yield JournalStart(one.number, name, 0, one.salt, one.beginning)

    def tenants(self) -> Iterator[Sequence[Any]]:
        told = (line for line in self.shop.store if line.operation in OF_TENANTS)
        return ((one.operation, one.record, one.other, one.digest, one.reason) for one in told)

    def lines(self) -> Iterator[LineRow]:
        for line in self.shop.store if self.whole else ():
            yield LineRow((0, line.seq), 0, 0, line, False)
        for one in self._tenants.values():
            erased = {gone.place.record for gone in one.tombstones}
            for line in one.lines:
                about = bool({line.record, line.other} & erased)
                yield LineRow((one.number, line.seq), one.number, one.scopes[line.scope], line, about)

    def versions(self) -> Iterator[VersionAt]:
        for one, row in self._rows("versions"):
            body = StoredBody(one.contents[row.content].body.text, None, *_rest(one.contents[row.content].body))
            yield VersionAt((one.number, row.version), row.place, row.kind, row.number, row.state, body)

    def ended_versions(self) -> Iterator[EndedAt]:
        for one, row in self._rows("versions", "ended"):
            yield EndedAt((one.number, row.ended), row.version, row.place.record)

    def links(self) -> Iterator[LinkAt]:
        return (LinkAt((one.number, row.link), row) for one, row in self._rows("links"))

    def ended_links(self) -> Iterator[LinkAt]:
        return (LinkAt((one.number, row.ended), row) for one, row in self._rows("links", "ended"))

    def tombstones(self) -> Iterator[GoneAt]:
        return (GoneAt((one.number, row.line), row.place) for one in self._tenants.values() for row in one.tombstones)

    def missing(self) -> None:
        """Nothing numbers the lines of all journals together."""

    def contents(self) -> Iterator[ContentAt]:
        for one, row in self._rows("contents"):
            kind, words = one.versions[row.content].kind, row.terms
            said = (kind, row.body.text, None, row.body.payload, one.vocabulary.name if one.vocabulary else "")
            yield ContentAt((one.number, row.content), *said, words.length, words.hashes + words.counts)

    def fields(self) -> Iterator[FieldAt]:
        for one, row in self._rows("contents"):
            yield from (FieldAt((one.number, row.content), *field) for field in row.fields)

    def keys(self) -> list[Any]:
        return [cells(key) for key in self.shop.keys.values()]

    def active(self) -> list[str]:
        return [space.fingerprint for space in self.shop.spaces[:1]]

    def _rows(self, table: str, by: str | None = None) -> Iterator[tuple[Tables, Any]]:
        """In the order of their numbers, or of what ended them."""
        for one in self._tenants.values():
            rows = [row for _, row in sorted(getattr(one, table).items())]
            for row in sorted((row for row in rows if getattr(row, by)), key=attrgetter(by)) if by else rows:
                yield one, row


def _rest(body: Any) -> tuple[str, bytes]:
    return body.payload, body.salt
