"""The `Index` port on SQLite: spaces and vectors in the file, shelves in memory, loaded when first searched."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_memory.engines.sqlite import spaces, write
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.eras import Eras
from agent_memory.engines.sqlite.feed import SqliteJobs
from agent_memory.engines.sqlite.interning import Interning, Naming
from agent_memory.engines.sqlite.journal import STORE, Lines
from agent_memory.engines.sqlite.read import SqliteReader
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.stock import SqliteStock, erased_since, snapshot
from agent_memory.ledger.marks import same_era
from agent_memory.ledger.shelves.following import Since
from agent_memory.ledger.shelves.shelves import Shelves
from agent_memory.models.record import Record, Scope
from agent_memory.ports.changes import Vector
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Work
from agent_memory.ports.index import Embedded, Sampled, Snapshot, Unembedded
from agent_memory.ports.records import View

if TYPE_CHECKING:
    import sqlite3


class SqliteIndex:
    def __init__(self, connections: Connections, interning: Interning) -> None:
        self._connections = connections
        self._interning = interning
        self._eras = Eras(connections, interning)
        self.shelves = Shelves(self._stock, self._erased_since)
        self.gather = self.shelves.gather
        self.occurring = self.shelves.occurring
        self.called = self.shelves.called
        self.steps = self.shelves.steps

    def renew(self) -> None:
        """In a child."""
        self._eras.renew()
        self.shelves.renew()

    def snapshot(self, scope: Scope) -> Snapshot:
        with self._connections.reading() as connection:
            return snapshot(connection, self._interning, scope, self._eras.era)

    def hydrate(self, view: View, handles: Sequence[int]) -> list[Record]:
        with self._connections.reading() as connection:
            same_era(view.era, self._eras.era)
            return SqliteReader(connection, self._interning, view).hydrate(handles)

    def damaged(self, view: View, handles: Collection[int]) -> int:
        with self._connections.reading() as connection:
            return SqliteReader(connection, self._interning, view).damaged(handles)

    def space(self) -> Space | None:
        with self._connections.reading() as connection:
            return spaces.active(connection)[1]

    def adopted(self, after: int) -> bool:
        with self._connections.reading() as connection:
            return spaces.adopted(connection, after)

    def begin(self, space: Space, *, anew: bool = False) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            spaces.begin(connection, Naming(self._interning, connection), space, anew)

    def switch(self, space: Space, *, anew: bool = False) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            spaces.switch(connection, Naming(self._interning, connection), space, anew)

    def sample(self, space: Space, count: int) -> list[Sampled]:
        with self._connections.reading() as connection:
            return spaces.sample(connection, space, count)

    def vectors(self, view: View, handles: Sequence[int]) -> Mapping[int, tuple[Vector, ...]]:
        with self._connections.reading() as connection:
            reader = SqliteReader(connection, self._interning, view)
            return spaces.vectors(connection, reader.among(handles))

    def pending(self, space: Space, view: View | None = None) -> int:
        if self._connections.read_only:  # what it lacks, nobody here can add
            return 0
        with self._connections.reading() as connection:
            return spaces.pending(connection, space, self._scopes(connection, view))

    def unembedded(self, space: Space, view: View | None, limit: int) -> list[Unembedded]:
        with self._connections.reading() as connection:
            return spaces.unembedded(connection, space, self._scopes(connection, view), limit)

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
        with self._connections.writing(seconds=None if wait else 0.0) as connection:
            check_version(connection, self._connections.name)
            if work is not None:
                SqliteJobs(connection).go_on(work)
            names, number = Naming(self._interning, connection), self._interning.tenant(connection, tenant)
            if number > STORE:  # else it was erased meanwhile
                write.embed(connection, names, space, Lines(connection, names, number), batch, now)

    def _erased_since(self, since: Mapping[str, int]) -> dict[str, Since]:
        with self._connections.reading() as connection:
            return erased_since(connection, self._interning, since)

    @contextmanager
    def _stock(self, tenant: str) -> Iterator[SqliteStock]:
        with self._connections.reading() as connection:
            yield SqliteStock(connection, self._interning, tenant, self._eras.era)

    def _scopes(self, connection: sqlite3.Connection, view: View | None) -> Iterable[int] | None:
        return None if view is None else self._interning.readable(connection, view.scope)
