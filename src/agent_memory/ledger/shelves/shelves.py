"""The shelves of a process: loaded when first searched, shared by all threads, dropped when they take too much.

numpy is imported by the first search, not before.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_memory.ledger.shelves.stock import Stock
from agent_memory.ledger.spaces import same
from agent_memory.models.record import Scope
from agent_memory.ports.abandon import finishing
from agent_memory.ports.index import Called, Calling, Pool, Probe
from agent_memory.ports.records import View

if TYPE_CHECKING:
    from agent_memory.ledger.shelves.shelf import Shelf

CACHE_BYTES = 512 * 1024 * 1024  # shelves beyond this are dropped, the longest unused first


class Shelves:
    """The searching part of the `Index` port. Each call is given a snapshot, and asks it only for what is new."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Also in a child: other threads may have held these."""
        self._guard = threading.Lock()
        self._shelves: OrderedDict[Scope, Shelf] = OrderedDict()

    def gather_each(self, stock: Stock, probes: Sequence[Probe]) -> list[Pool]:
        from agent_memory.ledger.shelves.search import Search

        for probe in probes:
            if probe.vector is not None:
                same(probe.space, stock.space)
        scope = probes[0].view.scope
        searches = [Search(stock, probe) for probe in probes]
        for shelf in self._followed(stock, scope):
            for search in searches:
                search.add(shelf)
        pending = stock.pending(scope)
        return [search.pool(pending) for search in searches]

    def occurring(self, stock: Stock, scope: Scope, terms: Sequence[int]) -> frozenset[int]:
        return frozenset(term for shelf in self._followed(stock, scope) for term in terms if shelf.has(term))

    def called(self, stock: Stock, view: View, names: Collection[str], calling: Calling, most: int) -> Called:
        at = stock.seq if view.seq is None else min(stock.seq, view.seq)
        having: dict[str, list[int]] = {}
        for shelf in self._followed(stock, view.scope):
            for name, records in shelf.called(stock, names, calling).items():
                having.setdefault(name, []).extend(record for record, first in records.items() if first <= at)
        telling = {name: records for name, records in having.items() if len(records) <= most}
        numbers = sorted({record for records in telling.values() for record in records})
        if not numbers:
            return Called(at, [])
        found = stock.standing(replace(view, seq=at), numbers)
        return Called(at, [one for one in found if not telling.keys().isdisjoint(calling[one.kind](one.payload))])

    def _followed(self, stock: Stock, scope: Scope) -> Iterator[Shelf]:
        """The shelves that this scope sees, brought up to the snapshot."""
        needed, grown = stock.readable(scope), False
        for one in needed:
            shelf = self._shelf(one)
            with finishing():  # others wait for it, too; and it would be begun again and again by who cannot wait
                grown |= shelf.follow(stock)
            yield shelf
        if grown:
            self._trim(needed)

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
