"""All that is needed for storage, under one roof: what one engine offers, or put together from several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from agent_memory.ports.access import AccessStore
from agent_memory.ports.changes import Vocabulary
from agent_memory.ports.debts import DebtStore, OutsidePlace
from agent_memory.ports.feed import Feed
from agent_memory.ports.index import Index
from agent_memory.ports.reading import ReadingLog
from agent_memory.ports.receipts import ReceiptStore
from agent_memory.ports.records import RecordStore, View
from agent_memory.ports.shipping import Shipping
from agent_memory.ports.spending import SpendingStore
from agent_memory.ports.tenants import TenantStore
from agent_memory.ports.vectors import Mirror, VectorStore
from agent_memory.ports.watch import Watch
from agent_memory.ports.working import WorkingStore


def _nothing_owed(patient: bool) -> bool:
    return True


def _owes_nothing() -> bool:
    return False


def _at_any_time() -> bool:
    return True


class Recoded(NamedTuple):
    """How many texts were `changed`, and the `last` content that was looked at, to go on after; None: that was all."""

    changed: int
    last: int | None


class Recode(Protocol):
    def __call__(self, codec: str | None, *, after: int = 0, before: int | None = None, limit: int = 256) -> Recoded:
        """Keep texts in the codec of this name (None: as they stand), where that makes them smaller: at most `limit` of
        them, of contents after the line `after` that were written before a moment. What they say, their versions and
        their seals stay. `PartMissing` when it is not installed."""
        ...


def _nothing_recoded(codec: str | None, *, after: int = 0, before: int | None = None, limit: int = 256) -> Recoded:
    return Recoded(0, None)


class TextSizes(NamedTuple):
    """Of the texts of some scopes: how many there are, and how many of them are encoded; the bytes that all of them
    have, and those that they take; the first is an estimate where some are encoded."""

    texts: int = 0
    encoded: int = 0
    bytes: int = 0
    stored: int = 0


class Encodings(Protocol):
    """What is kept in a codec now, of what somebody may see."""

    def sizes(self, view: View) -> TextSizes: ...

    def encoded(self, view: View, ids: Sequence[str]) -> set[str]:
        """Those of these records whose text is."""
        ...


class Indexing(Protocol):
    """Prepares scopes that are too large for memory, where an engine can look them up instead (`Snapshot.large`)."""

    def able(self) -> bool:
        """Whether this process may make the indexes."""
        ...

    def wanting(self) -> int:
        """How many scopes are too large for memory, and not prepared."""
        ...

    def left(self) -> int:
        """In how many of them there is something to do that this process may do."""
        ...

    def run(self, seconds: float | None) -> Mapping[str, int]:
        """Do some of it: `contents` that were added, and the number of scopes that are `left`."""
        ...


def _unbounded(most: int) -> None: ...


def _no_vocabularies() -> tuple[Vocabulary, ...]:
    return ()


def _as_it_is(now: int) -> int:
    return now


def _nothing_to_watch(watch: Watch) -> None: ...


class Elsewhere(VectorStore, Protocol):
    """A vector store that may be away: then it raises `PartMissing`, and for a while it asks nobody, unless somebody
    wants it to `retry`. Meanwhile `trouble` says why."""

    @property
    def trouble(self) -> str | None: ...

    def retry(self) -> None: ...


def _nothing_before() -> None: ...


def _nothing_after(child: bool) -> None: ...


@dataclass(frozen=True)
class Store:
    """`url` says where it is, without secrets. A `read_only` one refuses every write.

    Whoever opens a store calls `before_fork` and then, on both sides, `after_fork`. An engine leaves nothing open
    meanwhile that a child must not inherit, and gives the child fresh locks and empty caches.

    `scrub` takes from the disk what was erased and could not leave it at once; False while something of it is left. Who
    is not patient tries once, and waits for nobody. `owes` says whether there is any, `ripe` whether it is time for
    those who are not patient.

    `working` may be somebody else's. Vectors may be in a `vector_store` as well, whose mirror `vectors` is then. Those
    are places `outside`, to be told what to forget, and `debts` keeps what they still have to. An engine without
    `debts` has to have both itself.

    `vocabularies` tells the one in which words are written, then those of which a rebuild has left some; none before
    the first write that tells its own. A write that tells another name is refused: `Changed`. `recode` encodes texts,
    and `encodings` tells which are; without it none is. `bound` says how many bytes searching may take in this process.
    `indexing` is there where an engine can look up what is too large for memory.

    `bounded` takes what this machine's clock says, in microseconds, and gives the nearest moment to it that the store's
    own clock agrees with, where it has one. `watch` has it tell of its connections, from how things stand on.
    `shipping` shows and takes everything, for `migrate`; an engine without it cannot be migrated.
    `spending` counts what models are asked; with an engine without it, none is. `reading` is the access log; an engine
    without it keeps none.
    """

    url: str
    records: RecordStore
    index: Index
    working: WorkingStore
    receipts: ReceiptStore
    vectors: Mirror
    access: AccessStore
    feed: Feed
    tenants: TenantStore
    close: Callable[[], None]
    read_only: bool = False
    before_fork: Callable[[], None] = _nothing_before
    after_fork: Callable[[bool], None] = _nothing_after
    scrub: Callable[[bool], bool] = _nothing_owed
    owes: Callable[[], bool] = _owes_nothing
    ripe: Callable[[], bool] = _at_any_time
    debts: DebtStore | None = None
    outside: Mapping[str, OutsidePlace] = field(default_factory=dict)
    vector_store: tuple[str, Elsewhere] | None = None
    vocabularies: Callable[[], tuple[Vocabulary, ...]] = _no_vocabularies
    bound: Callable[[int], None] = _unbounded
    recode: Recode = _nothing_recoded
    encodings: Encodings | None = None
    bounded: Callable[[int], int] = _as_it_is
    watch: Callable[[Watch], None] = _nothing_to_watch
    indexing: Indexing | None = None
    shipping: Shipping | None = None
    spending: SpendingStore | None = None
    reading: ReadingLog | None = None
