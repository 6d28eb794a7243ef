"""What shelves follow, out of the tables: rows as they are. What is asked together is one round trip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent_memory.engines.postgres.connection import STREAMED, Database, PostgresSession
from agent_memory.engines.postgres.heads import Glance
from agent_memory.engines.postgres.read import reader, scoped
from agent_memory.engines.postgres.reads import Reads
from agent_memory.ledger.rows import Ended
from agent_memory.ledger.shelves.following import Since
from agent_memory.ledger.shelves.stock import Links, Row, ShelfNews, Vectors, Versions, heard
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Vocabulary
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Indexed, Snapshot

_NEVER = 2**63 - 1


def snapshot(reads: Reads, scope: Scope, most: int) -> Snapshot:
    """Scopes that more than `most` lines tell of are looked up, where that is prepared."""
    mine = reader(scope) | {"most": most}
    asked = {"lasts": mine, "spaces": None, "vocabularies": None}
    heads, answers = reads.together(
        scope.tenant, lambda session: [session.send(name, values) for name, values in asked.items()]
    )
    lasts, spaces, vocabularies = answers
    told = {scoped(scope.tenant, user, agent): rest for user, agent, *rest in lasts}
    return Snapshot(
        scope,
        heads.seq,
        heads.store,
        heads.adopted,
        {one: last for one, (last, *_) in told.items()},
        next((Space(*said) for _, *said, is_active in spaces if is_active), None),
        sum(waiting for _, waiting, *_ in told.values()),
        tuple(Vocabulary(name, digest) for _, name, digest, _ in vocabularies),
        heads.era,
        heads.lag,
        {
            one: Indexed(line, recent, documents, tuple(place))
            for one, (_, _, line, recent, documents, since, *place) in told.items()
            if since == heads.adopted
        },
    )


def erased_since(database: Database, since: Mapping[str, int]) -> dict[str, Since]:
    """What became of tenants, each since a line. A replica that still has what was erased is not asked from now on."""
    with database.reading(None) as session:
        rows = session.send("erased_since", {"names": [*since], "seqs": [*since.values()]})
        store = session.send("store_seq")
    found: dict[str, Since] = {}
    for name, seq, chain, there, user, agent in rows:
        erased = {*found[name].erased} if name in found else set()
        if user is not None:
            erased.add(Scope(tenant=name, user=user, agent=agent))
            database.marks.at_least(name, seq)
        found[name] = Since(seq, chain, there, erased)
    if len(found) < len(since):  # a tenant was erased
        database.marks.at_least(None, (store.fetchone() or (0,))[0])
    return found


class PostgresStock:
    """One read transaction, for a tenant. `kinds`: of these alone, without words and vectors."""

    def __init__(self, session: PostgresSession, glance: Glance, kinds: Sequence[str] | None = None) -> None:
        spaces = session.send("spaces")
        self.seq, _, self.adopted, self.era, _ = glance.heads()
        self.space = next((Space(*said) for _, *said, is_active in spaces if is_active), None)
        self._session, self._kinds = session, kinds

    def follow(self, scope: Scope, after: int, until: int | None = None) -> ShelfNews:
        asked, send = _asked(scope, after) | {"until": _NEVER if until is None else until}, self._session.send
        if self._kinds is not None:
            return self._named(asked | {"kinds": [*self._kinds]})
        lines, versions, words = (send(one, asked) for one in ("scope_lines", "stock_versions", "stock_words"))
        ended = send("stock_ended", asked)
        told = heard(lines)
        if after and not told.filled:
            return ShelfNews(erased=[*told.erased])
        return ShelfNews(
            Versions(*zip(*versions, strict=True)),
            words.fetchall(),
            self._vectors(asked) if self.space else (),
            [*map(Ended._make, ended)] if after else (),
            [*told.erased],
        )

    def _named(self, asked: Mapping[str, Any]) -> ShelfNews:
        lines, found, ended = (self._session.send(one, asked) for one in ("scope_lines", "stock_named", "stock_ended"))
        versions = Versions(*zip(*found, strict=True))
        return ShelfNews(versions, unread(versions), (), [*map(Ended._make, ended)], [*heard(lines).erased])

    def fields(self, scope: Scope, after: int, name: str) -> Sequence[Row]:
        rows = self._session.rows("stock_fields", _asked(scope, after) | {"name": name})
        return [(content, number if word is None else word) for content, word, number in rows]

    def payloads(self, contents: Sequence[int]) -> Mapping[int, Any]:
        return dict(self._session.rows("payloads", {"contents": [*contents]}))

    def links(self, scope: Scope, after: int) -> tuple[Links, Sequence[Ended]]:
        asked = _asked(scope, after)
        rows, ended = self._session.send("stock_links", asked), self._session.send("stock_ended_links", asked)
        return Links(*zip(*rows, strict=True)), [*map(Ended._make, ended)]

    def _vectors(self, asked: Mapping[str, Any]) -> Iterator[Vectors]:
        """A part at a time: of a large scope they take more room than all the rest."""
        batch: list[Row] = []
        for row in self._session.stream("stock_vectors", asked):
            batch.append(row)
            if len(batch) == STREAMED:
                yield Vectors(*zip(*batch, strict=True))
                batch = []
        if batch:
            yield Vectors(*zip(*batch, strict=True))


def unread(versions: Versions) -> list[Row]:
    """Contents without their words: nobody asks for them."""
    return [(content, 0, b"") for content in dict.fromkeys(versions.content)]


def _asked(scope: Scope, after: int) -> dict[str, Any]:
    return {"user": scope.user, "agent": scope.agent, "after": after}
