"""Scopes that are too large for a shelf: an engine finds candidates by indexes of its own, and their rows are put on a
shelf that lasts for one question. So they are masked and counted as any others; what only all rows could tell is
estimated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import numpy as np

from agent_memory.ledger.shelves.search import Search
from agent_memory.ledger.shelves.shelf import Shelf
from agent_memory.ledger.shelves.stock import Links, Row, ShelfNews, Stock
from agent_memory.models.record import Scope
from agent_memory.ports.index import Probe, Snapshot


class LargeCandidates(NamedTuple):
    """Candidates with all their rows, and their `fields` by name, as a `Stock` has them. `frequencies` is about how
    many of the `documents` have each term of the probe; None where these are all that the filter leaves."""

    news: ShelfNews
    fields: Mapping[str, Sequence[Row]]
    frequencies: Sequence[int] | None = None
    documents: int = 0


class LargeLinks(NamedTuple):
    """Links, and the versions of what they join."""

    news: ShelfNews
    links: Links


class Large(Protocol):
    """What an engine finds in a scope of `Snapshot.large`, of contents up to the line `until`. Other scopes and tenants
    do not show."""

    def found(self, snapshot: Snapshot, scope: Scope, probe: Probe, until: int) -> LargeCandidates:
        """For one probe: what is near in meaning, what has its words or its key, what is `also` spoken for, and the
        turns beside these. What the filter hides may be among them, and does not take the place of anything else."""
        ...

    def occurring(self, snapshot: Snapshot, scope: Scope, terms: Sequence[int], until: int) -> frozenset[int]:
        """Which of these terms occur."""
        ...

    def named(self, tenant: str, kinds: Sequence[str]) -> AbstractContextManager[Stock]:
        """What a shelf of versions of these kinds alone is stocked by: their words and vectors are left out."""
        ...

    def linked(self, snapshot: Snapshot, handles: Collection[int]) -> LargeLinks:
        """The links that begin or end at these versions, in all scopes of the reader."""
        ...


def add(search: Search, snapshot: Snapshot, recent: Shelf, found: LargeCandidates) -> None:
    """Collect the evidence of a large scope, after that of its `recent` shelf."""
    shelf = Shelf(recent.scope)
    shelf.put(found.news, snapshot.space)
    for name, rows in found.fields.items():
        shelf.read_fields(name, rows)
    search.approximate = True
    shown, known = search.shown, recent.columns["place"].count
    before = search.frequencies.copy()
    search.add(shelf)
    if found.frequencies is None:
        return
    share = shown / known if known else 1.0  # what view and filter leave of the newest, they leave of the others, about
    counted = search.frequencies - before
    about = (np.array(found.frequencies, np.float64) * share).astype(np.int64)
    search.frequencies = before + np.maximum(about, counted)
    search.beyond += max(0, round(found.documents * share) - search.shown)


def linked(scope: Scope, found: LargeLinks) -> Shelf:
    """A shelf of what links join."""
    shelf = Shelf(scope)
    shelf.put(found.news, None)
    shelf.links.add(found.links, ())
    return shelf
