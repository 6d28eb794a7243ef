"""The shelves of a process: loaded when first searched, shared by all threads, dropped when they take too much.

numpy is imported by the first search, not before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from agent_memory.ledger.marks import same_era
from agent_memory.ledger.shelves.following import Following, Watch
from agent_memory.ledger.shelves.stock import Stock
from agent_memory.ledger.spaces import same
from agent_memory.models.record import Scope
from agent_memory.ports.abandon import finishing
from agent_memory.ports.index import Called, Calling, Pool, Probe, Snapshot, Step
from agent_memory.ports.records import View

if TYPE_CHECKING:
    from agent_memory.ledger.shelves.columns import Numbering
    from agent_memory.ledger.shelves.shelf import Need, Needs, Shelf

CACHE_BYTES = 512 * 1024 * 1024  # shelves beyond this are dropped, the longest unused first


class Shelves:
    """The searching part of the `Index` port. Every answer is as of a snapshot, and a stock is opened only when there
    is something new in a scope of its reader, or when a question needs what none before it did."""

    def __init__(self, stock: Callable[[str], AbstractContextManager[Stock]], watch: Watch | None = None) -> None:
        """`stock` is opened for a tenant. `watch` tells what others erase; without it, only questions find out."""
        self._stock = stock
        self._calling: Calling = {}
        self._following = None if watch is None else Following(self, watch)
        self.renew()

    def renew(self) -> None:
        """Also in a child: other threads may have held these."""
        self._guard = threading.Lock()
        self._shelves: OrderedDict[Scope, Shelf] = OrderedDict()
        if self._following is not None:
            self._following.renew()

    def close(self) -> None:
        """Nobody asks any more, and nobody looks."""
        if self._following is not None:
            self._following.stop()

    def filled(self) -> dict[str, int]:
        """Tenants that have shelves, each with the line up to which all of them have been read."""
        least: dict[str, int] = {}
        with self._guard:
            for scope, shelf in self._shelves.items():
                if shelf.seq:  # else it holds nothing yet
                    least[scope.tenant] = min(shelf.seq, least.get(scope.tenant, shelf.seq))
        return least

    def refresh(self, scopes: Collection[Scope]) -> None:
        """Read on, in those of one tenant that there are."""
        with self._guard:
            shelves = [self._shelves[scope] for scope in scopes if scope in self._shelves]
        if shelves:
            with self._stock(shelves[0].scope.tenant) as stock:
                for shelf in shelves:
                    shelf.follow(stock, lambda _: (), self._calling)

    def drop(self, tenant: str) -> None:
        """Keep nothing of a tenant."""
        with self._guard:
            for scope in [scope for scope in self._shelves if scope.tenant == tenant]:
                del self._shelves[scope]

    def gather(self, snapshot: Snapshot, probes: Sequence[Probe]) -> list[Pool]:
        from agent_memory.ledger.shelves.search import Search, fields

        def needs(numbering: Numbering) -> set[Need]:
            return {("field", name) for probe in probes for name, *_ in fields(numbering, probe.where)}

        for probe in probes:
            if probe.vector is not None:
                same(probe.space, snapshot.space)
        searches = [Search(snapshot, probe) for probe in probes]
        for shelf in self._followed(snapshot, needs):
            for search in searches:
                search.add(shelf)
        return [search.pool() for search in searches]

    def occurring(self, snapshot: Snapshot, terms: Sequence[int]) -> frozenset[int]:
        return frozenset(term for shelf in self._followed(snapshot) for term in terms if shelf.has(term))

    def called(
        self, snapshot: Snapshot, view: View, names: Collection[str], calling: Calling, *, most: int
    ) -> list[Called]:
        from agent_memory.ledger.shelves.hops import called
        from agent_memory.ledger.shelves.shelf import NAMES

        self._calling = calling
        return called(self._followed(snapshot, lambda _: [NAMES]), names, view, snapshot.at(view), most)

    def steps(self, snapshot: Snapshot, view: View, handles: Sequence[int], *, most: int) -> list[Step]:
        from agent_memory.ledger.shelves.hops import steps
        from agent_memory.ledger.shelves.shelf import LINKS

        return steps(self._followed(snapshot, lambda _: [LINKS]), {*handles}, view, snapshot.at(view), most)

    def _followed(self, snapshot: Snapshot, needs: Needs = lambda _: ()) -> list[Shelf]:
        """The shelves that this reader sees, with all that there was at the snapshot."""
        shelves = [self._shelf(scope) for scope in snapshot.lasts]
        if behind := [one for one in shelves if one.behind(snapshot, needs)]:
            # Others wait for it, too; and it would be begun again and again by who cannot wait.
            with finishing(), self._stock(snapshot.scope.tenant) as stock:
                same_era(snapshot.era, stock.era)
                for shelf in behind:
                    shelf.follow(stock, needs, self._calling)
            self._trim(snapshot.lasts)
            if self._following is not None:
                self._following.begin()
        return shelves

    def _shelf(self, scope: Scope) -> Shelf:
        from agent_memory.ledger.shelves.shelf import Shelf

        with self._guard:
            shelf = self._shelves.get(scope)
            if shelf is None:
                shelf = self._shelves[scope] = Shelf(scope)
            self._shelves.move_to_end(scope)
            return shelf

    def _trim(self, needed: Collection[Scope]) -> None:
        """What somebody just asked for stays, however large: it would be loaded again for the next question."""
        with self._guard:
            total = sum(shelf.bytes for shelf in self._shelves.values())
            for scope in [scope for scope in self._shelves if scope not in needed]:
                if total <= CACHE_BYTES:
                    break
                total -= self._shelves.pop(scope).bytes
