"""What shelves are stocked by: one snapshot of a store, and what is new in it. All that an engine does for a search.

Texts are texts, and numbers are the journal's: what a shelf makes of them is its own affair. Most comes as columns,
which are fast to take in and to check; a cell may hold anything where a file is damaged.
"""

from __future__ import annotations

from collections import defaultdict, namedtuple
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from agent_memory.ledger.journal import AMEND, EMBED, ERASE, NAMES, PUT
from agent_memory.ledger.rows import Ended
from agent_memory.models.record import Scope
from agent_memory.ports.embedder import Space

Cells = Sequence[Any]
Row = tuple[Any, ...]

Versions = namedtuple(
    "Versions",
    "version record content position importance confidence valid_from valid_to ended "
    "kind status conversation repository key",
    defaults=((), (), (), (), (), (), (), (), (), (), (), (), (), ()),
)
"""Columns, in the order of their numbers. `position` is 0 where there is none, `valid_to` and `ended` are `NEVER` where
there is no end; `kind` to `key` are texts, or None."""

Vectors = namedtuple("Vectors", "line content scale data")
"""Columns, of the active space. `line` brought it."""

Links = namedtuple("Links", "link source target type weight ended", defaults=((), (), (), (), (), ()))
"""Columns, in the order of their numbers. `type` is a text, `ended` is `NEVER` where there is no end."""


class ShelfNews(NamedTuple):
    """What came to a scope since a journal line. `words` are (content, length, terms) of new contents: hashes and then
    counts, as `Terms` has them. `erased` are records."""

    versions: Versions = Versions()
    words: Sequence[Row] = ()
    vectors: Iterable[Vectors] = ()
    ended: Sequence[Ended] = ()
    erased: Sequence[int] = ()


class Stock(Protocol):
    """One look into a store, for a tenant: `seq` is the last line of its journal, `space` the active one. `adopted`:
    the line of the store's journal since which nothing that was read before counts any more. `era` is as in
    `Snapshot`."""

    seq: int
    adopted: int
    era: int
    space: Space | None

    def follow(self, scope: Scope, after: int, until: int | None = None) -> ShelfNews:
        """What is new in exactly this scope since the line `after`; 0: everything. Rows that came after the line
        `until` are left for later, where one is given."""
        ...

    def fields(self, scope: Scope, after: int, name: str) -> Sequence[Row]:
        """(content, value) of the contents that are new since the line `after`, when a question needs this field."""
        ...

    def links(self, scope: Scope, after: int) -> tuple[Links, Sequence[Ended]]:
        """The links of exactly this scope that are new since the line `after`, and which of the others ended."""
        ...

    def payloads(self, contents: Sequence[int]) -> Mapping[int, Any]:
        """Canonical JSON of these contents, as text or in UTF-8."""
        ...


class ShelfChanges(NamedTuple):
    """What journal lines mean for a shelf. `filled`: there are rows to read; `changed`: records with new versions."""

    filled: bool
    changed: set[int]
    erased: set[int]


def heard(lines: Iterable[Row]) -> ShelfChanges:
    """Of (operation, record)."""
    records: defaultdict[str | None, set[int]] = defaultdict(set)
    for operation, record in lines:
        records[NAMES.get(operation)].update([record] if type(record) is int else [])
    filled = not records.keys().isdisjoint({PUT, AMEND, EMBED})
    return ShelfChanges(filled, records[PUT] | records[AMEND], records[ERASE])
