"""Search over what a reader may see: one question in, all evidence out.

Scoring is core's, and so the same on every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from agent_memory.models.record import Record, Scope, Status
from agent_memory.ports.changes import Vector, Vocabulary
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Work
from agent_memory.ports.records import Filter, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


HIDDEN = ("recorded", "valid", *Filter._fields)
"""What hides a version, in this order: the two clocks, then the parts of the filter."""


NEVER = 2**63 - 1
"""When a version ends that has no end."""


class Indexed(NamedTuple):
    """A scope that is too large for memory, and looked up in the engine: what there was by the journal line `line`.
    What came after `recent` is few enough for memory. `documents` contents are indexed; `place` is the engine's own."""

    line: int
    recent: int
    documents: int
    place: tuple[int, ...]


class Snapshot(NamedTuple):
    """As of when one reader looks, for all that a recall reads. A value: nothing is held open meanwhile, and rows are
    masked by `seq`, the last line of the tenant's journal. Only an erasure shows through, and should.

    `lasts` are the scopes that this reader sees, those that exist, the narrowest first, each with a line after which
    nothing changed in it. `store` is the last line of the store's own journal, `adopted` that since which nothing that
    was read before counts any more. `space` is the active one, `pending`
    contents of this reader have no vectors in it yet, and `vocabularies` are those of the `Store`. `large` are those of
    the scopes that are looked up in the engine, of today alone: what is found there is approximate.

    `era` grows when the journals are not those any more that this process read before: a backup was restored, or a
    replica took over that lacked some lines. What was found in one era says nothing in another.
    `lag` is how many seconds at most a copy of the store is behind that was asked instead; None: the store itself."""

    scope: Scope
    seq: int
    store: int
    adopted: int
    lasts: Mapping[Scope, int]
    space: Space | None = None
    pending: int = 0
    vocabularies: tuple[Vocabulary, ...] = ()
    era: int = 0
    lag: float | None = None
    large: Mapping[Scope, Indexed] = MappingProxyType({})

    def at(self, view: View) -> int:
        """The line as of which a view looks, if it does so from here."""
        return self.seq if view.seq is None else min(self.seq, view.seq)


class Probe(NamedTuple):
    """`terms` are word hashes, `vector` a float unit vector in `space`, `key` a folded natural key.
    `pool` bounds how many candidates similarity and recency may each bring; words bring all their matches, and
    `also` are the handles of those that something else speaks for.
    `past` are intervals of valid time, half open: versions that are over by the view's `now`, and held in one of them,
    are candidates as well, unless the view has a `valid_at`.
    `tell_hidden` asks how many versions are not candidates, and why. Vectors are derived, so that all of them answer
    whatever the moment; only a replay leaves out those that came after the journal line `vectors_until`.
    `aside`: conversations are put aside of which the view shows a record that fits this."""

    view: View
    where: Filter
    pool: int
    terms: tuple[int, ...] = ()
    vector: NDArray[np.float32] | None = None
    space: Space | None = None
    key: str | None = None
    tell_hidden: bool = False
    vectors_until: int | None = None
    also: tuple[int, ...] = ()
    past: tuple[tuple[int, int], ...] = ()
    aside: Filter | None = None


class Pool(NamedTuple):
    """Candidates, one row each, and the statistics of everything that this reader may see. Those of one
    conversation (the same number in `conversations`; 0 is none) stand together, in its order.

    `similarity` is NaN where a candidate has no vector; `counts` is candidates x terms, read term by term; `documents`
    and `frequencies` (documents holding each term) describe all visible records, not the pool.
    `pending` contents of this reader have no vectors yet; those that there were came until the journal line `head`, the
    last of the snapshot; `store` is the last line of the store's own journal. `damaged` rows of this reader's scopes
    cannot be read, and are left out. `hidden`, if it was asked for, counts the versions in the reader's scopes that
    were not visible, by the first of `HIDDEN` that hid them.
    Where a `past` is asked for, `valid_to` tells until when each holds (`NEVER`: it has no end), and `records` has the
    same number for all versions of one record. `vocabularies` are those of the snapshot. `approximate`: candidates may
    be missing, and the statistics are estimates. `aside`, where it was asked for, tells which candidates are of a
    conversation, in their scope, that is put aside; of what is approximate not all that are.
    """

    seq: int
    handles: NDArray[np.int64]
    valid_from: NDArray[np.int64]
    importance: NDArray[np.float32]
    conversations: NDArray[np.int32]
    similarity: NDArray[np.float32]
    counts: NDArray[np.uint8]
    lengths: NDArray[np.int32]
    exact: NDArray[np.bool_]
    documents: int
    pending: int
    frequencies: NDArray[np.int64]
    hidden: Mapping[str, int] | None = None
    head: int = 0
    store: int = 0
    damaged: int = 0
    valid_to: NDArray[np.int64] | None = None
    records: NDArray[np.int64] | None = None
    vocabularies: tuple[Vocabulary, ...] = ()
    approximate: bool = False
    aside: NDArray[np.bool_] | None = None


Calling = Mapping[str, Callable[[dict[str, Any]], Sequence[str]]]
"""kind -> (payload -> the names that it goes by), for the kinds that have names. The same at every call."""


class Called(NamedTuple):
    """A version that goes by some of the names that were asked for."""

    handle: int
    names: Collection[str]
    status: Status


class LinkStep(NamedTuple):
    """One link crossed: from the version `here` to the version `there` of its other end, with the link (`outward`)
    or against it. `status` is that of `there`."""

    here: int
    there: int
    type: str
    weight: float
    outward: bool
    status: Status


class Unembedded(NamedTuple):
    """A content that still lacks vectors from passage `part` on, and whose it is. `store` is the last line of the
    store's journal at that moment."""

    tenant: str
    handle: int
    text: str
    part: int
    store: int | None = None


class Embedded(NamedTuple):
    """The vectors made for an `Unembedded`; `complete` when none are left to make. `store` is its own: if the tenant
    was erased since, and another has its name, they are of a text that is gone, and passed over."""

    handle: int
    vectors: tuple[Vector, ...]
    complete: bool
    store: int | None = None


class Sampled(NamedTuple):
    """A stored vector, the words that it was made from, and whose it is."""

    tenant: str
    handle: int
    text: str
    vector: Vector


class Index(Protocol):
    """Vectors of the active space answer; another space can be built beside it and then take its place."""

    def snapshot(self, scope: Scope) -> Snapshot:
        """The latest, for a reader of this scope: one trip."""
        ...

    def gather(self, snapshot: Snapshot, probes: Sequence[Probe]) -> list[Pool]:
        """The evidence for each of these probes of one reader. `SpaceMismatch` when the vector of one is not of the
        active space."""
        ...

    def occurring(self, snapshot: Snapshot, terms: Sequence[int]) -> frozenset[int]:
        """Which of these terms occur in anything that this reader may see, at whatever time."""
        ...

    def called(
        self, snapshot: Snapshot, view: View, names: Collection[str], calling: Calling, *, most: int
    ) -> list[Called]:
        """What this view shows under one of these names, the oldest record first. A name that more than `most`
        records of this reader have had by then is nobody's."""
        ...

    def steps(self, snapshot: Snapshot, view: View, handles: Sequence[int], *, most: int) -> list[LinkStep]:
        """One hop over links, in both directions, from these versions: whatever the view shows at the other end,
        in the order in which the links came. Of a record with more than `most` links of one type and direction,
        these are left out."""
        ...

    def hydrate(self, view: View, handles: Sequence[int]) -> list[Record]:
        """The versions behind a pool's handles, in order; what this reader may not see, what was forgotten meanwhile,
        or cannot be read, is left out. `Changed` when the view is of an era that is over."""
        ...

    def damaged(self, view: View, handles: Collection[int]) -> int:
        """How many of these versions this reader may see and cannot be read."""
        ...

    def space(self) -> Space | None:
        """The active space; None before the first."""
        ...

    def adopted(self, after: int) -> bool:
        """Whether the active space took its place after this line of the store's journal, be it for the first time or
        again."""
        ...

    def begin(self, space: Space, *, anew: bool = False) -> None:
        """Make room for this space: the active one if there is none yet, else beside it, everything pending. `anew`:
        also in the active one everything is pending that no caller brought a vector for (a `Vector` of nothing,
        from 0 to 0); each content keeps its old vectors until the first new one comes."""
        ...

    def switch(self, space: Space, *, anew: bool = False) -> None:
        """Make a space active and drop the others. `Conflict` while anything is pending in it. `anew`: its vectors are
        not those that it had; also if it is active already, whoever holds them in memory reads them again."""
        ...

    def sample(self, space: Space, count: int) -> list[Sampled]:
        """Some of the vectors that this store's own embedder made, as it has them; not those that callers brought."""
        ...

    def vectors(self, view: View, handles: Sequence[int]) -> Mapping[int, tuple[Vector, ...]]:
        """What these versions have in the active space, in the order of their parts. Left out are those that wait for
        vectors, have none, or that this reader may not see."""
        ...

    def pending(self, space: Space, view: View | None = None) -> int:
        """How many contents lack vectors: those that this reader may see, or all."""
        ...

    def unembedded(self, space: Space, view: View | None, limit: int) -> list[Unembedded]:
        """The newest first: those that this reader may see, or of some tenant, which is the engine's choice."""
        ...

    def embedded(
        self,
        space: Space,
        tenant: str,
        batch: Sequence[Embedded],
        *,
        now: int,
        wait: bool = True,
        work: Work | None = None,
    ) -> None:
        """Store vectors of a tenant that were pending. Contents that were forgotten meanwhile are passed over. Without
        `wait` it is tried at once, and `StoreError` when somebody else is writing. `work` is as in
        `RecordStore.apply`."""
        ...
