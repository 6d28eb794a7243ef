"""The `Index` port on SQLite: spaces and vectors in the file, shelves in memory, loaded when first searched."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agent_memory.engines.sqlite import spaces
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning, Naming
from agent_memory.engines.sqlite.journal import OURSELVES, Ledger
from agent_memory.engines.sqlite.read import Reader
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.models.record import Record, Scope
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Embedded, Pool, Probe, Unembedded
from agent_memory.ports.records import View

if TYPE_CHECKING:
    import sqlite3

    from agent_memory.engines.sqlite.shelf import Shelf

CACHE_BYTES = 512 * 1024 * 1024  # shelves beyond this are dropped, the longest unused first


class SqliteIndex:
    """Shelves are shared by all threads of the process. numpy is imported by the first search, not before."""

    def __init__(self, connections: Connections, interning: Interning) -> None:
        self._connections = connections
        self._interning = interning
        self._shelves: OrderedDict[int, Shelf] = OrderedDict()
        self._guard = threading.Lock()

    def gather(self, probe: Probe) -> Pool:
        from agent_memory.engines.sqlite.search import Search

        with self._connections.reading() as connection:
            seq = connection.execute("select coalesce(max(seq), 0) from journal").fetchone()[0]
            number, space = spaces.active(connection)
            if probe.vector is not None and probe.space != space:
                raise spaces.mismatch(probe.space, space)
            scopes = self._interning.readable(connection, probe.view.scope)
            search = Search(connection, self._interning, probe, seq)
            for scope in scopes:
                shelf = self._shelf(scope)
                if shelf.follow(connection, seq, (number, space.dimension) if space else None):
                    self._trim()
                search.add(shelf)
            return search.pool(spaces.pending(connection, space, scopes) if space else 0)

    def occurring(self, scope: Scope, terms: Sequence[int]) -> frozenset[int]:
        with self._connections.reading() as connection:
            seq = connection.execute("select coalesce(max(seq), 0) from journal").fetchone()[0]
            number, space = spaces.active(connection)
            found: set[int] = set()
            for one in self._interning.readable(connection, scope):
                shelf = self._shelf(one)
                if shelf.follow(connection, seq, (number, space.dimension) if space else None):
                    self._trim()
                found |= {term for term in terms if shelf.has(term)}
            return frozenset(found)

    def hydrate(self, handles: Sequence[int]) -> list[Record]:
        with self._connections.reading() as connection:
            return Reader(connection, self._interning, View(Scope(), 0)).hydrate(handles)

    def space(self) -> Space | None:
        with self._connections.reading() as connection:
            return spaces.active(connection)[1]

    def adopted(self, after: int) -> bool:
        with self._connections.reading() as connection:
            return spaces.adopted(connection, after)

    def begin(self, space: Space) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            spaces.begin(connection, Naming(self._interning, connection), space)

    def switch(self, space: Space) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            spaces.switch(connection, Naming(self._interning, connection), space)

    def pending(self, space: Space, view: View | None = None) -> int:
        if self._connections.read_only:  # what it lacks, nobody here can add
            return 0
        with self._connections.reading() as connection:
            return spaces.pending(connection, space, self._scopes(connection, view))

    def unembedded(self, space: Space, view: View | None, limit: int) -> list[Unembedded]:
        with self._connections.reading() as connection:
            return spaces.unembedded(connection, space, self._scopes(connection, view), limit)

    def embedded(self, space: Space, batch: Sequence[Embedded], *, now: int) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            ledger = Ledger(connection, now, Naming(self._interning, connection).number(OURSELVES), None)
            spaces.embedded(connection, ledger, space, batch)

    def after_fork(self) -> None:
        """In a child: other threads may have held these."""
        self._guard = threading.Lock()
        self._shelves = OrderedDict()

    def _scopes(self, connection: sqlite3.Connection, view: View | None) -> Iterable[int] | None:
        return None if view is None else self._interning.readable(connection, view.scope)

    def _shelf(self, scope: int) -> Shelf:
        from agent_memory.engines.sqlite.shelf import Shelf

        with self._guard:
            shelf = self._shelves.get(scope)
            if shelf is None:
                shelf = self._shelves[scope] = Shelf(scope)
            self._shelves.move_to_end(scope)
            return shelf

    def _trim(self) -> None:
        with self._guard:
            total = sum(shelf.bytes for shelf in self._shelves.values())
            while total > CACHE_BYTES and len(self._shelves) > 1:
                _, oldest = self._shelves.popitem(last=False)
                total -= oldest.bytes
