"""The shelves of a process: loaded when first searched, shared by all threads, dropped when they take too much.

numpy is imported by the first search, not before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Literal, NamedTuple

from agent_memory.ledger.marks import same_era
from agent_memory.ledger.shelves.following import Following, Watch
from agent_memory.ledger.shelves.stock import Stock
from agent_memory.ledger.spaces import same
from agent_memory.models.record import Scope
from agent_memory.ports.abandon import finishing
from agent_memory.ports.index import Called, Calling, Indexed, LinkStep, Pool, Probe, Snapshot
from agent_memory.ports.records import View
from agent_memory.ports.spans import span

if TYPE_CHECKING:
    from agent_memory.ledger.shelves.columns import Numbering
    from agent_memory.ledger.shelves.large import Large
    from agent_memory.ledger.shelves.search import Search
    from agent_memory.ledger.shelves.shelf import Need, Needs, Shelf

MOST_RECENT = 4  # times as many rows as are recent may stand on a shelf of these
CACHE_BYTES = 512 * 1024 * 1024  # shelves beyond this are dropped, the longest unused first


class ShelfPlace(NamedTuple):
    """Where a shelf stands: the whole of a scope, or what is recent in a large one, or goes by a name there."""

    scope: Scope
    part: Literal["whole", "recent", "names"]


class Shelves:
    """The searching part of the `Index` port. Every answer is as of a snapshot, and a stock is opened only when there
    is something new in a scope of its reader, or when a question needs what none before it did."""

    def __init__(
        self,
        stock: Callable[[str], AbstractContextManager[Stock]],
        watch: Watch | None = None,
        large: Large | None = None,
        recent: int = 0,
    ) -> None:
        """`stock` is opened for a tenant. `watch` tells what others erase; without it, only questions find out. `large`
        looks up scopes that are too large for memory, of which about the `recent` newest rows are kept here."""
        self._stock = stock
        self._large, self._recent = large, recent
        self._calling: Calling = {}
        self._most: int | None = None
        self._following = None if watch is None else Following(self, watch)
        self.renew()

    def renew(self) -> None:
        """Also in a child: other threads may have held these."""
        self._guard = threading.Lock()
        self._shelves: OrderedDict[ShelfPlace, Shelf] = OrderedDict()
        if self._following is not None:
            self._following.renew()

    def bound(self, most: int) -> None:
        """From now on shelves, and what is made to search them, take so many bytes at most."""
        with self._guard:
            self._most = most
            self._shelves.clear()

    def close(self) -> None:
        """Nobody asks any more, and nobody looks."""
        if self._following is not None:
            self._following.stop()

    def filled(self) -> dict[str, int]:
        """Tenants that have shelves, each with the line up to which all of them have been read."""
        least: dict[str, int] = {}
        with self._guard:
            for (scope, _), shelf in self._shelves.items():
                if shelf.seq:  # else it holds nothing yet
                    least[scope.tenant] = min(shelf.seq, least.get(scope.tenant, shelf.seq))
        return least

    def refresh(self, scopes: Collection[Scope]) -> None:
        """Read on, in those of one tenant that there are; what knows only names is left to the next question."""
        with self._guard:
            for scope in scopes:
                self._shelves.pop(ShelfPlace(scope, "names"), None)
            shelves = [shelf for place, shelf in self._shelves.items() if place.scope in scopes]
        if shelves:
            with self._stock(shelves[0].scope.tenant) as stock:
                self._stocked(shelves, stock, lambda _: ())

    def drop(self, tenant: str) -> None:
        """Keep nothing of a tenant."""
        with self._guard:
            for place in [place for place in self._shelves if place.scope.tenant == tenant]:
                del self._shelves[place]

    def gather(self, snapshot: Snapshot, probes: Sequence[Probe]) -> list[Pool]:
        from agent_memory.ledger.shelves.search import Search, fields

        def needs(numbering: Numbering) -> set[Need]:
            return {("field", name) for probe in probes for name, *_ in fields(numbering, probe)}

        for probe in probes:
            if probe.vector is not None:
                same(probe.space, snapshot.space)
        searches = [Search(snapshot, probe) for probe in probes]
        for shelf in self._followed(snapshot, needs):
            for search in searches:
                search.add(shelf)
                if shelf.scope in snapshot.large:
                    self._look_up(search, snapshot, shelf)
        return [search.pool() for search in searches]

    def _look_up(self, search: Search, snapshot: Snapshot, recent: Shelf) -> None:
        from agent_memory.ledger.shelves.large import add

        assert self._large is not None
        with span("gather.large"):
            add(search, snapshot, recent, self._large.found(snapshot, recent.scope, search.probe, recent.since))

    def occurring(self, snapshot: Snapshot, terms: Sequence[int]) -> frozenset[int]:
        shelves = self._followed(snapshot)
        found = {term for shelf in shelves for term in terms if shelf.has(term)}
        for shelf in shelves:
            left = [term for term in terms if term not in found]
            if left and self._large is not None and shelf.scope in snapshot.large:
                found |= self._large.occurring(snapshot, shelf.scope, left, shelf.since)
        return frozenset(found)

    def called(
        self, snapshot: Snapshot, view: View, names: Collection[str], calling: Calling, *, most: int
    ) -> list[Called]:
        from agent_memory.ledger.shelves.hops import called
        from agent_memory.ledger.shelves.shelf import NAMES

        self._calling = calling
        shelves = self._followed(snapshot, lambda _: [NAMES], named=tuple(calling))
        return called(shelves, names, view, snapshot.at(view), most)

    def steps(self, snapshot: Snapshot, view: View, handles: Sequence[int], *, most: int) -> list[LinkStep]:
        from agent_memory.ledger.shelves.hops import steps
        from agent_memory.ledger.shelves.shelf import LINKS

        if snapshot.large and self._large is not None:
            from agent_memory.ledger.shelves.large import linked

            shelf = linked(snapshot.scope, self._large.linked(snapshot, handles))
            return steps([shelf], {*handles}, view, snapshot.at(view), most)
        return steps(self._followed(snapshot, lambda _: [LINKS]), {*handles}, view, snapshot.at(view), most)

    def _followed(self, snapshot: Snapshot, needs: Needs = lambda _: (), named: tuple[str, ...] = ()) -> list[Shelf]:
        """The shelves that this reader sees, with all that there was at the snapshot. Of a large scope: with what is
        recent, or with all of the kinds that are `named`."""
        shelves = [self._shelf(scope, snapshot.large.get(scope), bool(named)) for scope in snapshot.lasts]
        if behind := [one for one in shelves if one.behind(snapshot, needs)]:
            apart = [one for one in behind if named and one.scope in snapshot.large]
            # Others wait for it, too; and it would be begun again and again by who cannot wait.
            with finishing():
                if rest := [one for one in behind if one not in apart]:
                    with self._stock(snapshot.scope.tenant) as stock:
                        same_era(snapshot.era, stock.era)
                        self._stocked(rest, stock, needs)
                if apart and self._large is not None:
                    with self._large.named(snapshot.scope.tenant, named) as stock:
                        same_era(snapshot.era, stock.era)
                        self._stocked(apart, stock, needs)
            self._trim(snapshot.lasts)
            if self._following is not None:
                self._following.begin()
        return shelves

    def _stocked(self, shelves: Collection[Shelf], stock: Stock, needs: Needs) -> None:
        for shelf in shelves:
            shelf.follow(stock, needs, self._calling)

    def _shelf(self, scope: Scope, indexed: Indexed | None, named: bool) -> Shelf:
        from agent_memory.ledger.shelves.shelf import Shelf

        place = ShelfPlace(scope, "whole" if indexed is None else "names" if named else "recent")
        since = indexed.recent if indexed is not None and not named else 0
        with self._guard:
            if indexed is not None:
                self._shelves.pop(ShelfPlace(scope, "whole"), None)
            shelf = self._shelves.get(place)
            if shelf is None or (indexed is not None and since and self._outgrown(shelf, indexed)):
                shelf = self._shelves[place] = Shelf(scope, since, self._most)
            self._shelves.move_to_end(place)
            return shelf

    def _outgrown(self, shelf: Shelf, indexed: Indexed) -> bool:
        """Whether most of what is on it is not recent any more, or it begins after what is indexed."""
        grown = shelf.since < indexed.recent and shelf.columns["place"].count > MOST_RECENT * self._recent
        return grown or shelf.since > indexed.line

    def _trim(self, needed: Collection[Scope]) -> None:
        """What somebody just asked for stays, however large: it would be loaded again for the next question."""
        from agent_memory.ledger.shelves.shelf import SEARCHED

        most = CACHE_BYTES if self._most is None else self._most // SEARCHED
        with self._guard:
            total = sum(shelf.bytes for shelf in self._shelves.values())
            for place in [place for place in self._shelves if place.scope not in needed]:
                if total <= most:
                    break
                total -= self._shelves.pop(place).bytes
