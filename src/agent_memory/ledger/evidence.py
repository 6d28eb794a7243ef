"""What an engine shows `verify`: its rows as they are stored, damaged or not, in order, each once. The rules are in
`ledger/proof.py`. Nothing is looked up line by line, so that each stream can be one statement.

What a journal line brought comes in the order of lines: every such row has the line's `row`, which is where the engine
keeps the line. All that is asked of a `row` is that lines and streams come in its order, that it compares, and that the
lines of one journal come in theirs: a file's row number will do, and so will (tenant, seq).

Numbers are those of the tenant's journal. A reference to a line that is not there is `LOST`; a text that is not UTF-8
comes with lone surrogates in it. Cells may hold anything else, too: the rules expect it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from agent_memory.ledger.journal import Line
from agent_memory.ledger.rows import LinkRow, RecordPlace
from agent_memory.ports.changes import VersionState

LOST = "lost"  # instead of a number: no seal is over it

Row = Any


class JournalStart(NamedTuple):
    """A journal, by what its lines call it, and where its chain begins. `tenant` None: the store's own. `base`: up to
    this number it was a part of one journal of all tenants, and has gaps."""

    journal: Any
    tenant: str | None
    base: Any
    salt: bytes
    genesis: Any


class LineRow(NamedTuple):
    """`scope` is the number that the line is chained by (`NOBODYS` in the store's own). `erased`: there is a tombstone
    of the record that it names, or of the other."""

    row: Row
    journal: Any
    scope: int
    line: Line
    erased: bool


class CommonAt(NamedTuple):
    """A line of the one journal that all tenants had before 0.2: what was chained then, its seq first."""

    said: Sequence[Any]
    digest: bytes
    chain: Any


class StoredBody(NamedTuple):
    """A content as it is stored: `codec` says how `text` is encoded (None: it stands as it is)."""

    text: Any
    codec: str | None
    payload: str
    salt: bytes


class VersionAt(NamedTuple):
    """A version, with what it says. None: that is not there, or nobody knows whose it is."""

    row: Row
    place: RecordPlace
    kind: str
    number: int
    state: VersionState
    body: StoredBody | None


class EndedAt(NamedTuple):
    """`row` is the line that ended a version, of which these are the number and the record."""

    row: Row
    number: int
    record: int


class LinkAt(NamedTuple):
    """At the line that brought it, or, among those that were ended, at the line that did."""

    row: Row
    link: LinkRow


class GoneAt(NamedTuple):
    """A tombstone, at the line that erased."""

    row: Row
    place: RecordPlace


class ContentAt(NamedTuple):
    """A content, at the line that brought it, and its words: in which vocabulary, how many, and their hashes followed
    by how often each occurs."""

    row: Row
    kind: str
    text: Any
    codec: str | None
    payload: str
    vocabulary: str
    length: int
    terms: bytes


class FieldAt(NamedTuple):
    row: Row
    name: str
    value: str | int | float


class VectorAt(NamedTuple):
    """A vector as it is stored, and the dimension of its space. `sealed`: it has a checksum."""

    vector: Any
    scale: float
    data: bytes
    dimension: int
    sealed: bool


class Sealed(NamedTuple):
    """A table whose rows carry a checksum of their other columns (None: an older version wrote it), which comes last in
    each row. The first column names the row; of `told` tables the rows are counted by name."""

    table: str
    columns: Sequence[str]
    rows: Iterable[Sequence[object]]
    told: bool = False


class Journals(Protocol):
    """The lines and what they tell of: in the whole store, or of the one journal that is proved alone."""

    def journals(self) -> Iterable[JournalStart]: ...

    def tenants(self) -> Iterable[Sequence[Any]]:
        """What the store's own journal tells of tenants, in order: of each line the operation (one of `OF_TENANTS`),
        record, other, digest and reason. They are known before all others are read."""
        ...

    def lines(self) -> Iterable[LineRow]:
        """Of all journals."""
        ...

    def versions(self) -> Iterable[VersionAt]: ...

    def ended_versions(self) -> Iterable[EndedAt]: ...

    def links(self) -> Iterable[LinkAt]: ...

    def ended_links(self) -> Iterable[LinkAt]: ...

    def tombstones(self) -> Iterable[GoneAt]: ...

    def common(self) -> Iterable[CommonAt]:
        """In the order of their seq; nothing where the store never had such a journal."""
        ...


class Evidence(Journals, Protocol):
    """All is read in one snapshot. Where a journal is proved alone, nothing of this second part is asked for."""

    def missing(self) -> Iterable[range] | None:
        """Where the engine numbers the lines of all journals together: those that are not there, apart from what all
        tenants had one journal for. None where it does not."""
        ...

    def contents(self) -> Iterable[ContentAt]: ...

    def fields(self) -> Iterable[FieldAt]: ...

    def vectors(self) -> Iterable[VectorAt]: ...

    def keys(self) -> Iterable[Sequence[object]]:
        """API keys, each as the columns that `key_seal` is over; the first is its id."""
        ...

    def active(self) -> Sequence[str]:
        """The spaces that are marked as the one that answers: their fingerprints."""
        ...

    def beside(self) -> Iterable[Sealed]: ...

    def own(self) -> Mapping[str, Callable[[], Iterable[str]]]:
        """What only this engine can look at, each part by what it is called: loose ends between its tables, types of
        cells, its files. Gives what is wrong."""
        ...

    def unreadable(self, error: Exception) -> bool:
        """Whether an error says that the store is damaged below the level of rows: then the rest is looked at all the
        same. Others are raised."""
        ...
