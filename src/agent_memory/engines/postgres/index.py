"""The `Index` port on PostgreSQL: spaces and vectors in tables, shelves in memory, loaded when first searched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from agent_memory.engines.postgres import spaces
from agent_memory.engines.postgres.connection import LOCK_SECONDS
from agent_memory.engines.postgres.feed import PostgresJobs
from agent_memory.engines.postgres.indexing import RECENT
from agent_memory.engines.postgres.large import PostgresLarge
from agent_memory.engines.postgres.present import PostgresLook
from agent_memory.engines.postgres.read import VersionRow, content, moment, reader, record
from agent_memory.engines.postgres.reads import Reads
from agent_memory.engines.postgres.stock import PostgresStock, erased_since, snapshot
from agent_memory.ledger.marks import same_era
from agent_memory.ledger.rows import Wanted
from agent_memory.ledger.shelves.shelves import Shelves
from agent_memory.ledger.spaces import each
from agent_memory.models.errors import Corrupt
from agent_memory.models.record import Record, Scope
from agent_memory.ports.changes import Vector
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Work
from agent_memory.ports.index import Embedded, Sampled, Snapshot, Unembedded
from agent_memory.ports.records import View

AT_ONCE = 0.001  # seconds: 0 would be for ever


class PostgresIndex:
    """`most`: lines of a scope that is kept in memory; one with more is looked up in the database, once that is
    prepared."""

    def __init__(self, reads: Reads, most: int) -> None:
        self._reads, self._most = reads, most
        self._database = database = reads.primary
        watch = partial(erased_since, database)
        self.shelves = Shelves(self._stock, watch, PostgresLarge(reads), min(RECENT, most))
        self.gather = self.shelves.gather
        self.occurring = self.shelves.occurring
        self.called = self.shelves.called
        self.steps = self.shelves.steps

    def snapshot(self, scope: Scope) -> Snapshot:
        return snapshot(self._reads, scope, self._most)

    def hydrate(self, view: View, handles: Sequence[int]) -> list[Record]:
        found: dict[int, Record] = {}
        for row in self._hydrated(view, handles):
            with suppress(Corrupt):
                found[row.version] = record(view.scope.tenant, row)
        return [found[handle] for handle in handles if handle in found]

    def damaged(self, view: View, handles: Collection[int]) -> int:
        there = self._hydrated(view, [*dict.fromkeys(handles)])
        return len(there) - len(self.hydrate(view, [*dict.fromkeys(handles)]))

    def space(self) -> Space | None:
        with self._database.reading(None) as session:
            return spaces.active(session)

    def adopted(self, after: int) -> bool:
        with self._database.reading(None) as session:
            space = spaces.active(session)
            reason = space.fingerprint if space else None
            return bool(session.cell("adopted", {"after": after, "reason": reason}))

    def begin(self, space: Space, *, anew: bool = False) -> None:
        with self._database.writing(None) as session:
            spaces.begin(session, space, anew)

    def switch(self, space: Space, *, anew: bool = False) -> None:
        with self._database.writing(None) as session:
            spaces.switch(session, space, anew)

    def sample(self, space: Space, count: int) -> list[Sampled]:
        with self._database.reading(None) as session:
            return spaces.sample(session, space, count)

    def vectors(self, view: View, handles: Sequence[int]) -> Mapping[int, tuple[Vector, ...]]:
        asked = reader(view.scope) | {"handles": [*handles]}
        with self._database.reading(view.scope.tenant) as session:
            return each(session.send("vectors_of", asked))

    def pending(self, space: Space, view: View | None = None) -> int:
        with self._database.reading(None if view is None else view.scope.tenant) as session:
            if view is None:
                left: int = session.cell("all_pending", {"space": spaces.number(session, space)})
            else:
                left = session.cell("my_pending", reader(view.scope) | spaces.named(space))
        return left

    def unembedded(self, space: Space, view: View | None, limit: int) -> list[Unembedded]:
        tenant, mine = (
            (None, {"users": None, "agents": None}) if view is None else (view.scope.tenant, reader(view.scope))
        )
        if tenant is None:
            with self._database.reading(None) as session:
                tenant = session.cell("tenant_pending", {"space": spaces.number(session, space)})
        if tenant is None:
            return []
        with self._database.reading(tenant) as session:
            asked = mine | {"space": spaces.number(session, space), "limit": limit}
            rows, store = session.send("unembedded", asked), session.cell("store_seq")
        return [Unembedded(tenant, handle, content(*text), part, store) for handle, *text, part in rows]

    def embedded(
        self,
        space: Space,
        tenant: str,
        batch: Sequence[Embedded],
        *,
        now: int,
        wait: bool = True,
        work: Work | None = None,
    ) -> None:
        with self._database.writing(tenant, seconds=LOCK_SECONDS if wait else AT_ONCE) as session:
            look = PostgresLook(session, tenant, Wanted(), now)
            if work is not None:
                PostgresJobs(session).go_on(work)
            spaces.embed(session, look, space, batch, now)

    def _hydrated(self, view: View, handles: Sequence[int]) -> list[VersionRow]:
        asked = moment(view) | {"handles": [*handles]}
        heads, rows = self._reads.together(view.scope.tenant, lambda session: session.send("hydrate", asked))
        same_era(view.era, heads.era)
        return [*map(VersionRow._make, rows)]

    @contextmanager
    def _stock(self, tenant: str) -> Iterator[PostgresStock]:
        with self._reads.opened(tenant) as (session, glance):
            yield PostgresStock(session, glance)
