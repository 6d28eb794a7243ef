"""Scopes that are too large for memory, looked up in the tables that `indexing` fills.

Words and vectors bring candidates; their rows come as a shelf would have them, so that they are masked and scored as
exactly as any others. Every statement goes by tenant and scope, and row-level security stands behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent_memory.engines.postgres.connection import PostgresSession
from agent_memory.engines.postgres.heads import Glance
from agent_memory.engines.postgres.read import conditions, moment, reader
from agent_memory.engines.postgres.reads import Reads
from agent_memory.engines.postgres.statements import SQL
from agent_memory.engines.postgres.stock import PostgresStock, unread
from agent_memory.ledger.shelves.large import LargeCandidates, LargeLinks
from agent_memory.ledger.shelves.stock import Links, Row, ShelfNews, Vectors, Versions
from agent_memory.models.errors import Changed
from agent_memory.models.record import Scope
from agent_memory.ports.index import Indexed, Probe, Snapshot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST = 80  # candidates that words and vectors each bring, with the turns beside them
DEPTH = 2000  # the newest contents with a word that are looked at
FEW = 300  # what a filter leaves may be so many to be looked at one by one
FEW_KINDS = 4  # a filter by more of them leaves more
TUPLES = 20_000  # vectors that are looked at for a filter that few pass
REACH = 2  # turns beside a candidate, in each direction
MOST_LINKS = 20_000  # of a record in one direction that are read


class PostgresLarge:
    """Asks the primary alone, whoever told the snapshot."""

    def __init__(self, reads: Reads) -> None:
        self._reads, self._database = reads, reads.primary

    def found(self, snapshot: Snapshot, scope: Scope, probe: Probe, until: int) -> LargeCandidates:
        with self._standing(snapshot, scope) as session:
            return _Looking(session, snapshot.large[scope], probe, until).found()

    def occurring(self, snapshot: Snapshot, scope: Scope, terms: Sequence[int], until: int) -> frozenset[int]:
        _, number, *_ = snapshot.large[scope].place
        known = {signed(term): term for term in terms}
        with self._standing(snapshot, scope) as session:
            rows = session.rows("large_occurring", {"scope": number, "until": until, "terms": [*known]})
        return frozenset(known[term] for (term,) in rows)

    @contextmanager
    def _standing(self, snapshot: Snapshot, scope: Scope) -> Iterator[PostgresSession]:
        """`Changed` where the tables are not those any more that the snapshot tells of."""
        _, number, *_ = snapshot.large[scope].place
        with self._database.reading(scope.tenant) as session:
            stands = session.send("large_stands", {"scope": number, "adopted": snapshot.adopted})
            yield session
            if stands.fetchone() is None:
                self._reads.leave()
                raise Changed("a large reader was prepared anew while it was read", hint="ask again")

    @contextmanager
    def named(self, tenant: str, kinds: Sequence[str]) -> Iterator[PostgresStock]:
        with self._database.reading(tenant) as session:
            yield PostgresStock(session, Glance(session, tenant, self._database.marks), kinds)

    def linked(self, snapshot: Snapshot, handles: Collection[int]) -> LargeLinks:
        asked: dict[str, Any] = reader(snapshot.scope) | {"handles": [*handles], "most": MOST_LINKS}
        with self._database.reading(snapshot.scope.tenant) as session:
            links = Links(*zip(*session.rows("large_links", asked), strict=True))
            asked["records"] = [*{*links.source, *links.target}]
            versions = Versions(*zip(*session.rows("large_ends", asked), strict=True))
        return LargeLinks(ShelfNews(versions, unread(versions)), links)


class _Looking:
    """For one probe, in one scope."""

    def __init__(self, session: PostgresSession, indexed: Indexed, probe: Probe, until: int) -> None:
        self._session, self._probe = session, probe
        self._tenant, self._scope, self._space, self._dimension, first = indexed.place
        shown = SQL["standing_at" if probe.past else "visible"]  # of what is over, the shelf knows when it held
        filtering, values = conditions(probe.where)
        self._filled = {"conditions": filtering, "shown": shown}
        self._asked: dict[str, Any] = moment(probe.view) | values
        self._asked |= {"scope": self._scope, "space": self._space, "until": until, "few": FEW + 1, "most": MOST}
        self._asked |= {"first": first, "documents": indexed.documents, "depth": DEPTH, "reach": REACH}

    def found(self) -> LargeCandidates:
        few = self._few()
        terms = {signed(term): place for place, term in enumerate(self._probe.terms)}
        asked = self._asked | {"terms": [*terms]}
        told = () if few is not None else self._session.send("large_words", asked, **self._filled)
        self._session.send("large_scan", {"breadth": str(MOST), "tuples": str(TUPLES)})
        if few is not None:
            return LargeCandidates(*self._rows(few))
        near = () if self._probe.vector is None else self._near(self._probe.vector)
        frequencies, records = [0] * len(self._probe.terms), list[int]()
        for record, term, documents in told:
            if record is None:
                frequencies[terms[term]] = documents
            else:
                records.append(record)
        records += (record for (record,) in near)
        return LargeCandidates(*self._rows(records), frequencies, self._asked["documents"])

    def _few(self) -> list[int] | None:
        """Everything that a filter leaves; None where it leaves too much, or is not one that an index answers."""
        where = self._probe.where
        if where.conversation_id is None and (where.kinds is None or len(where.kinds) > FEW_KINDS):
            return None
        rows = self._session.rows("large_few", self._asked, **self._filled)
        return [record for (record,) in rows] if len(rows) <= FEW else None

    def _near(self, vector: NDArray[np.float32]) -> Iterable[Row]:
        numbers = {"tenant": self._tenant, "number": self._scope, "space": self._space, "dimension": self._dimension}
        filled = self._filled | {name: str(number) for name, number in numbers.items()}
        return self._session.send("large_near", self._asked | {"vector": str(vector.tolist())}, **filled)

    def _rows(self, records: list[int]) -> tuple[ShelfNews, Mapping[str, Sequence[Row]]]:
        """Of these, and of the turns beside them: in a pool, those of a conversation that follow each other count as
        neighbours."""
        probe, session = self._probe, self._session
        asked = self._asked | {"records": records, "also": [*probe.also], "key": probe.key}
        versions = Versions(*zip(*session.rows("large_versions", asked), strict=True))
        asked = {"scope": self._scope, "space": self._space, "contents": [*{*versions.content}]}
        terms, vectors = session.send("large_terms", asked), session.send("large_embeddings", asked)
        fields: dict[str, list[Row]] = {}
        if probe.where.fields or probe.where.pages is not None:
            for content, name, word, number in session.rows("large_fields", asked):
                fields.setdefault(name, []).append((content, number if word is None else word))
        made = [*zip(*vectors, strict=True)]
        return ShelfNews(versions, terms.fetchall(), [Vectors(*made)] if made else ()), fields


def signed(term: int) -> int:
    """The hash of a word as the tables have it: the same eight bytes, read from the other end."""
    return int.from_bytes(term.to_bytes(8, "little"), "big", signed=True)
