"""What shelves are fed by: one snapshot of a store, and what is new in it. All that an engine does for a search.

Texts are texts, and numbers are the journal's: what a shelf makes of them is its own affair. Most comes as columns,
which are fast to take in and to check; a cell may hold anything where a file is damaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from agent_memory.ledger.journal import ADOPT, AMEND, EMBED, ERASE, NAMES, PUT
from agent_memory.ledger.rows import Ended
from agent_memory.models.record import Record, Scope
from agent_memory.ports.embedder import Space
from agent_memory.ports.records import View

Cells = Sequence[Any]


class Versions(NamedTuple):
    """In the order of their numbers. `position` is 0 where there is none, `valid_to` and `ended` are `NEVER` where
    there is no end; `kind` to `key` are texts, or None."""

    version: Cells = ()
    record: Cells = ()
    content: Cells = ()
    position: Cells = ()
    importance: Cells = ()
    confidence: Cells = ()
    valid_from: Cells = ()
    valid_to: Cells = ()
    ended: Cells = ()
    kind: Cells = ()
    status: Cells = ()
    conversation: Cells = ()
    repository: Cells = ()
    key: Cells = ()


class Fields(NamedTuple):
    """The values of an indexed field."""

    content: Cells = ()
    value: Cells = ()


class Vectors(NamedTuple):
    """Of the active space. `line` brought it."""

    line: Cells
    content: Cells
    scale: Cells
    data: Cells


class News(NamedTuple):
    """What came to a scope since a journal line. `words` are (content, length, terms) of new contents: hashes and then
    counts, as `Terms` has them. `erased` are records. `anew`: nothing that was read before counts any more, and all is
    to be asked for again."""

    versions: Versions = Versions()
    words: Sequence[tuple[Any, Any, Any]] = ()
    vectors: Iterable[Vectors] = ()
    ended: Sequence[Ended] = ()
    erased: Sequence[int] = ()
    anew: bool = False


class Feed(Protocol):
    """One snapshot: `seq` is its last journal line, `space` the active one."""

    @property
    def seq(self) -> int: ...

    @property
    def space(self) -> Space | None: ...

    def readable(self, scope: Scope) -> Sequence[Scope]:
        """The scopes that this one sees, those that exist, the narrowest first."""
        ...

    def follow(self, scope: Scope, after: int) -> News:
        """What is new in exactly this scope since the line `after`; 0: everything."""
        ...

    def fields(self, scope: Scope, after: int, name: str) -> Fields:
        """Of the contents that are new since the line `after`; asked for when a question first needs this field."""
        ...

    def payloads(self, contents: Sequence[int]) -> Mapping[int, Any]:
        """Canonical JSON of these contents, as text or in UTF-8."""
        ...

    def standing(self, view: View, records: Sequence[int]) -> Sequence[Record]:
        """What the view shows of these records, in their order; those that cannot be read are left out."""
        ...

    def pending(self, scope: Scope) -> int:
        """How many contents that this scope sees have no vectors yet."""
        ...


class Heard(NamedTuple):
    """What journal lines mean for a shelf: `changed` are records with other versions, `filled` that there may be rows
    to read."""

    anew: bool
    filled: bool
    changed: set[int]
    erased: set[int]


def heard(lines: Iterable[tuple[int, int | None]]) -> Heard:
    """Of (operation, record)."""
    records: dict[str, set[int]] = {}
    for operation, record in lines:
        records.setdefault(NAMES.get(operation, ""), set()).update(() if record is None else (record,))
    changed = records.get(PUT, set()) | records.get(AMEND, set())
    return Heard(ADOPT in records, bool(changed) or EMBED in records, changed, records.get(ERASE, set()))
