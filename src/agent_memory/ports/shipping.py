"""A store as rows, section by section, for `migrate`: what it shows, and how it is filled. `ledger/shipment.py` names
the sections and their columns, and makes one stream of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Cells = tuple[Any, ...]
Show = Callable[[str], Iterator[Cells]]
"""The rows of the section of this name, always in the same order as long as nothing changes. Beside the sections of the
stream there is `heads`: the last line of each journal, as its tenant (None: the store), its number and its value."""


class Shipping(Protocol):
    """Cells are words, times, numbers of a tenant's journal and bytes; numbers of an engine's own never cross.

    Whoever fills a store holds no lock in between. From `begin` until `finish` or `abandon` it refuses everybody else,
    when it is opened and at every write."""

    def showing(self, tenant: str | None = None) -> AbstractContextManager[Show]:
        """In one snapshot: everything; or, of the sections that name a tenant, what this one has."""
        ...

    def mark(self) -> str | None:
        """What was noted with the last rows that were taken; None: nobody is filling it."""
        ...

    def begin(self, mark: str) -> None:
        """`Conflict` where it holds anything already. Rows of the store itself go: those of the source take their
        place."""
        ...

    def take(self, rows: Sequence[tuple[str, Sequence[Cells]]], mark: str, *, after: str) -> None:
        """Rows by their section, after those of all sections before it, and the mark: in one transaction. `Conflict`
        where the mark is not `after`, in that transaction: somebody else fills it, too, or gave it up."""
        ...

    def finish(self, *, after: str) -> None:
        """Make what follows from the rows: heads, what was last written where. It still refuses others. `Conflict` as
        `take` says."""
        ...

    def open(self, *, after: str) -> None:
        """Nobody fills it any more: others may use it. `Conflict` as `take` says."""
        ...

    def abandon(self) -> None:
        """Take everything out that was taken in, and let others use it. `Conflict` where nobody is filling it, looked
        up in the same transaction: what is in use is never emptied."""
        ...
