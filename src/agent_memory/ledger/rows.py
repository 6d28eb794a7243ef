"""What an engine reads for a write, and what it writes: words and journal numbers, never an engine's own numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from agent_memory.ledger.feed import WorkStanding
from agent_memory.ledger.journal import Head, Line
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Content, Terms, Vector, VersionState, Vocabulary
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Cursor, Work


class RecordPlace(NamedTuple):
    """A record: the number of its first version, its id, and whose it is."""

    record: int
    id: str
    scope: Scope


class StoredVersion(NamedTuple):
    """A version that is believed. `content` is where it is stored, `body` what it says; None: it was not asked for, or
    is lost."""

    version: int
    number: int
    content: int
    body: Content | None
    state: VersionState


class BelievedRecord(NamedTuple):
    """A record with all its believed versions, in the order they begin."""

    place: RecordPlace
    kind: str
    versions: tuple[StoredVersion, ...]

    @property
    def number(self) -> int:
        """Of the newest version: it is always believed."""
        return max((one.number for one in self.versions), default=0)


class LinkRow(NamedTuple):
    """A link. `ended`: by this line."""

    link: int
    source: int
    target: int
    type: str
    scope: Scope
    weight: float
    properties: str
    salt: bytes
    ended: int | None = None


class Descent(NamedTuple):
    """`source`, of this kind, was once derived from `target`, and `stands`: still is."""

    source: RecordPlace
    kind: str
    target: int
    scope: Scope
    stands: bool


class KeptAnswer(NamedTuple):
    """What is kept of a request that was answered: both empty when a record that it wrote was erased."""

    request: bytes
    text: str


@dataclass(slots=True)
class Wanted:
    """What must be read before a write can be planned. Records are named by id or by (kind, key) in a scope; then all
    their believed versions, also under other keys, and the links of these types that stand between two of them.

    `told`: of these ids the contents, too, as of all that are named by a key. Of what is linked or erased they are not
    read.
    `authors` are written for: such a scope is made when it is new. `deriving` is not empty: all that was ever derived
    from one of the records, through any number of steps, of these users and all their agents; `*`: of everybody.
    `forgotten`: which of these ids a user
    erased, by (tenant, user). `works`: on behalf of which jobs, whose leases and cursors count.
    """

    authors: set[Scope] = field(default_factory=set)
    ids: dict[Scope, set[str]] = field(default_factory=dict)
    told: dict[Scope, set[str]] = field(default_factory=dict)
    keys: dict[Scope, set[tuple[str, str]]] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    deriving: set[str] = field(default_factory=set)
    forgotten: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    answers: set[tuple[Scope, str]] = field(default_factory=set)
    works: set[Work] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Present:
    """What an engine found of a tenant, under its write lock. `scopes`: of every scope that a line may name the number,
    within the tenant.
    `rooted`: of `records` and what descends from them, whatever has a source that stands and is none of them.
    `spaces`: the active one first, then one that is being built. `vocabulary`: in which words are written."""

    head: Head
    scopes: Mapping[Scope, int]
    records: tuple[BelievedRecord, ...] = ()
    links: tuple[LinkRow, ...] = ()
    descents: tuple[Descent, ...] = ()
    rooted: frozenset[int] = frozenset()
    forgotten: frozenset[tuple[str, str, str]] = frozenset()
    answers: Mapping[tuple[Scope, str], KeptAnswer] = field(default_factory=dict)
    spaces: tuple[Space, ...] = ()
    works: Mapping[Work, WorkStanding] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None


class VectorRow(NamedTuple):
    """The `place`-th vector that this journal line brought."""

    line: int
    place: int
    content: int
    scope: Scope
    space: Space
    vector: Vector


class Lack(NamedTuple):
    """A content has no vectors in a space from passage `part` on."""

    content: int
    scope: Scope
    space: Space
    part: int


class ContentRow(NamedTuple):
    """A content, and all that is derived from it."""

    content: int
    body: Content
    terms: Terms
    fields: tuple[tuple[str, str | int | float], ...]
    vectors: tuple[VectorRow, ...]
    lacks: tuple[Lack, ...]


class VersionRow(NamedTuple):
    """`ended`: by a later line of the same write."""

    version: int
    place: RecordPlace
    kind: str
    number: int
    content: int
    state: VersionState
    ended: int | None = None


class Ended(NamedTuple):
    """A row whose recorded interval ends at a line."""

    number: int
    line: int


class Gone(NamedTuple):
    """A record that goes with everything about it; a tombstone stays. `words` are those of contents that came and
    went in this write; of the others the engine finds them where it deletes them."""

    place: RecordPlace
    line: int
    words: tuple[Terms, ...] = ()


class CursorRow(NamedTuple):
    """How far a job has come from now on."""

    job: str
    cursor: Cursor


class AnswerRow(NamedTuple):
    """A request that is answered from now on as it was."""

    scope: Scope
    key: str
    at: int
    answer: KeptAnswer


class Rows(NamedTuple):
    """All that a write changes, complete. First what is `gone` goes; then the rest can be written in any order.
    `vocabulary`: the words of this store are made so from now on; None: as it knows already."""

    lines: tuple[Line, ...] = ()
    gone: tuple[Gone, ...] = ()
    contents: tuple[ContentRow, ...] = ()
    versions: tuple[VersionRow, ...] = ()
    ended_versions: tuple[Ended, ...] = ()
    links: tuple[LinkRow, ...] = ()
    ended_links: tuple[Ended, ...] = ()
    answers: tuple[AnswerRow, ...] = ()
    cursors: tuple[CursorRow, ...] = ()
    vocabulary: Vocabulary | None = None
