"""The `Index` port on SQLite: spaces and vectors in the file, shelves in memory, loaded when first searched."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_memory.engines.sqlite import spaces, write
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning, Naming
from agent_memory.engines.sqlite.read import Reader
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.spaces import same
from agent_memory.models.record import Record, Scope
from agent_memory.ports.abandon import finishing
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Called, Calling, Embedded, Pool, Probe, Sampled, Step, Unembedded
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
        return self.gather_each([probe])[0]

    def gather_each(self, probes: Sequence[Probe]) -> list[Pool]:
        from agent_memory.engines.sqlite.search import Search

        with self._connections.reading() as connection:
            seq = _seq(connection)
            number, space = spaces.active(connection)
            for probe in probes:
                if probe.vector is not None:
                    same(probe.space, space)
            scopes = self._interning.readable(connection, probes[0].view.scope)
            searches = [Search(connection, self._interning, probe, seq) for probe in probes]
            for shelf in self._followed(connection, scopes, seq, (number, space)):
                for search in searches:
                    search.add(shelf)
            pending = spaces.pending(connection, space, scopes) if space else 0
            return [search.pool(pending) for search in searches]

    def occurring(self, scope: Scope, terms: Sequence[int]) -> frozenset[int]:
        with self._connections.reading() as connection:
            scopes = self._interning.readable(connection, scope)
            shelves = self._followed(connection, scopes, _seq(connection), spaces.active(connection))
            return frozenset(term for shelf in shelves for term in terms if shelf.has(term))

    def called(self, view: View, names: Collection[str], calling: Calling, *, most: int) -> Called:
        with self._connections.reading() as connection:
            seq = _seq(connection)
            at = seq if view.seq is None else min(seq, view.seq)
            kinds = {self._interning.known(connection, kind): named for kind, named in calling.items()}
            scopes = self._interning.readable(connection, view.scope)
            having: dict[str, list[int]] = {}
            for shelf in self._followed(connection, scopes, seq, spaces.active(connection)):
                for name, records in shelf.called(connection, seq, kinds, names).items():
                    having.setdefault(name, []).extend(record for record, first in records.items() if first <= at)
            telling = {name: records for name, records in having.items() if len(records) <= most}
            numbers = sorted({record for records in telling.values() for record in records})
            if not numbers:
                return Called(at, [])
            found = Reader(connection, self._interning, replace(view, seq=at)).standing(numbers)
            return Called(at, [one for one in found if not telling.keys().isdisjoint(calling[one.kind](one.payload))])

    def steps(self, view: View, handles: Sequence[int], *, most: int) -> list[Step]:
        with self._connections.reading() as connection:
            return Reader(connection, self._interning, view).steps(handles, most)

    def hydrate(self, handles: Sequence[int]) -> list[Record]:
        with self._connections.reading() as connection:
            return Reader(connection, self._interning, View(Scope(), 0)).hydrate(handles)

    def damaged(self, handles: Collection[int]) -> int:
        with self._connections.reading() as connection:
            reader = Reader(connection, self._interning, View(Scope(), 0))
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

    def embedded(self, space: Space, batch: Sequence[Embedded], *, now: int, wait: bool = True) -> None:
        with self._connections.writing(seconds=None if wait else 0.0) as connection:
            check_version(connection, self._connections.name)
            write.embed(connection, Naming(self._interning, connection), space, batch, now)

    def after_fork(self) -> None:
        """In a child: other threads may have held these."""
        self._guard = threading.Lock()
        self._shelves = OrderedDict()

    def _scopes(self, connection: sqlite3.Connection, view: View | None) -> Iterable[int] | None:
        return None if view is None else self._interning.readable(connection, view.scope)

    def _followed(
        self, connection: sqlite3.Connection, scopes: Iterable[int], seq: int, active: tuple[int, Space | None]
    ) -> Iterable[Shelf]:
        """The shelves of these scopes, brought up to `seq`."""
        number, space = active
        needed, grown = tuple(scopes), False
        for scope in needed:
            shelf = self._shelf(scope)
            with finishing():  # others wait for it, too; and it would be begun again and again by who cannot wait
                grown |= shelf.follow(connection, seq, (number, space.dimension) if space else None)
            yield shelf
        if grown:
            self._trim(needed)

    def _shelf(self, scope: int) -> Shelf:
        from agent_memory.engines.sqlite.shelf import Shelf

        with self._guard:
            shelf = self._shelves.get(scope)
            if shelf is None:
                shelf = self._shelves[scope] = Shelf(scope)
            self._shelves.move_to_end(scope)
            return shelf

    def _trim(self, needed: Collection[int]) -> None:
        """What somebody just asked for stays, however large: it would be loaded again for the next question."""
        with self._guard:
            total = sum(shelf.bytes for shelf in self._shelves.values())
            for scope in [scope for scope in self._shelves if scope not in needed]:
                if total <= CACHE_BYTES:
                    break
                total -= self._shelves.pop(scope).bytes


def _seq(connection: sqlite3.Connection) -> int:
    seq: int = cell(connection, SQL["last_seq"])
    return seq
