"""The `Index` port on SQLite: spaces and vectors in the file, shelves in memory, loaded when first searched."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_memory.engines.sqlite import spaces, write
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning, Naming
from agent_memory.engines.sqlite.journal import Lines
from agent_memory.engines.sqlite.read import Reader
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.stock import SqliteStock
from agent_memory.ledger.shelves.shelves import Shelves
from agent_memory.models.record import Record, Scope
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Called, Calling, Embedded, Pool, Probe, Sampled, Step, Unembedded
from agent_memory.ports.records import View

if TYPE_CHECKING:
    import sqlite3


class SqliteIndex:
    def __init__(self, connections: Connections, interning: Interning) -> None:
        self._connections = connections
        self._interning = interning
        self.shelves = Shelves()

    def gather(self, probe: Probe) -> Pool:
        return self.gather_each([probe])[0]

    def gather_each(self, probes: Sequence[Probe]) -> list[Pool]:
        with self._stock(probes[0].view.scope) as stock:
            return self.shelves.gather_each(stock, probes)

    def occurring(self, scope: Scope, terms: Sequence[int]) -> frozenset[int]:
        with self._stock(scope) as stock:
            return self.shelves.occurring(stock, scope, terms)

    def called(self, view: View, names: Collection[str], calling: Calling, *, most: int) -> Called:
        with self._stock(view.scope) as stock:
            return self.shelves.called(stock, view, names, calling, most)

    def steps(self, view: View, handles: Sequence[int], *, most: int) -> list[Step]:
        with self._connections.reading() as connection:
            return Reader(connection, self._interning, view).steps(handles, most)

    def hydrate(self, view: View, handles: Sequence[int]) -> list[Record]:
        with self._connections.reading() as connection:
            return Reader(connection, self._interning, view).hydrate(handles)

    def damaged(self, view: View, handles: Collection[int]) -> int:
        with self._connections.reading() as connection:
            reader = Reader(connection, self._interning, view)
            there = [one for one in handles if reader.is_there(one)]
            return len(there) - len(reader.hydrate(there))

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

    def pending(self, space: Space, view: View | None = None) -> int:
        if self._connections.read_only:  # what it lacks, nobody here can add
            return 0
        with self._connections.reading() as connection:
            return spaces.pending(connection, space, self._scopes(connection, view))

    def unembedded(self, space: Space, view: View | None, limit: int) -> list[Unembedded]:
        with self._connections.reading() as connection:
            return spaces.unembedded(connection, space, self._scopes(connection, view), limit)

    def embedded(self, space: Space, tenant: str, batch: Sequence[Embedded], *, now: int, wait: bool = True) -> None:
        with self._connections.writing(seconds=None if wait else 0.0) as connection:
            check_version(connection, self._connections.name)
            names = Naming(self._interning, connection)
            write.embed(connection, names, space, Lines(connection, names, names.tenant(tenant)), batch, now)

    @contextmanager
    def _stock(self, scope: Scope) -> Iterator[SqliteStock]:
        with self._connections.reading() as connection:
            yield SqliteStock(connection, self._interning, scope.tenant)

    def _scopes(self, connection: sqlite3.Connection, view: View | None) -> Iterable[int] | None:
        return None if view is None else self._interning.readable(connection, view.scope)
