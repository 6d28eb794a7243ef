"""What can happen to a store, as values. `RecordStore.apply` is the only way in and takes nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from agent_memory.models.record import Scope, Status
from agent_memory.ports.embedder import Space

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
APART = bytes(8)
"""Between the words of a question as one vocabulary has them and as another has them: no word hashes to this."""


class Vocabulary(NamedTuple):
    """How words are made: a `name` that is never used for two ways, and a digest of what was really done under it
    (empty: nobody noted it)."""

    name: str
    digest: str = ""

    @property
    def fingerprint(self) -> str:
        return f"{self.name}@{self.digest}" if self.digest else self.name

    def same(self, other: Vocabulary) -> bool:
        """As far as is known."""
        return self.name == other.name and (self.digest == other.digest or not (self.digest and other.digest))


class Terms(NamedTuple):
    """The analysed words of a text: 64-bit hashes (8 bytes each, little endian) and how often each occurs.
    Marks (who said it, whether it names a time) are among them, and do not count into `length`."""

    hashes: bytes = b""
    counts: bytes = b""
    length: int = 0


class Vector(NamedTuple):
    """A vector of `text[start:end]`, or one that a caller brought (`start` and `end` are 0). `data` is float32, four
    bytes a number, little endian; what an engine makes of it is the engine's affair."""

    part: int
    start: int
    end: int
    data: bytes

    @classmethod
    def of(cls, part: int, start: int, end: int, numbers: NDArray[np.float32]) -> Vector:
        return cls(part, start, end, numbers.astype("<f4", copy=False).tobytes())

    @property
    def numbers(self) -> NDArray[np.float32]:
        import numpy as np

        return np.frombuffer(self.data, "<f4")


class Content(NamedTuple):
    """Immutable. `payload` is canonical JSON; `salt` hides it all behind a digest, and dies with it."""

    text: str
    payload: str
    salt: bytes


class VersionState(NamedTuple):
    """What differs between two versions of the same content. Times are microseconds since 1970, UTC.
    `position` is its place in its conversation."""

    valid_from: int
    valid_to: int | None = None
    key: str | None = None
    conversation_id: str | None = None
    position: int | None = None
    repository: str | None = None
    status: Status = Status.ACTIVE
    importance: float = 0.5
    confidence: float = 1.0
    source: str = "user"


class Derived(NamedTuple):
    """What is computed from a content. `vectors` are in `space`; unless they are `complete` and that is the
    active space, the rest is left pending. `vocabulary` is that of the words; None: whichever the store has."""

    terms: Terms = Terms()
    fields: tuple[tuple[str, str | int | float], ...] = ()
    vectors: tuple[Vector, ...] = ()
    space: Space | None = None
    complete: bool = False
    vocabulary: Vocabulary | None = None


class Put(NamedTuple):
    """A new record, or a new version of the one with this id or key.

    `succeeds`: the old version stays valid until the new one begins; otherwise the new one corrects it
    as if the old had never been. `dated`: the caller said when it begins, so that another beginning alone
    is a change. `unless_forgotten`: nothing, where no record has this id because the author's user forgot it, whatever
    its key leads to. `if_absent`: nothing, where there is such a record, whatever it says. `holds`: nothing, unless one
    of these earlier puts of the same write came to a record.
    """

    id: str
    kind: str
    content: Content
    state: VersionState
    derived: Derived = Derived()
    succeeds: bool = False
    dated: bool = False
    unless_forgotten: bool = False
    if_absent: bool = False
    holds: tuple[str, ...] = ()


class Amend(NamedTuple):
    """A new version of the same content: what is not None changes."""

    id: str
    status: Status | None = None
    importance: float | None = None
    confidence: float | None = None
    valid_to: int | None = None


class Key(NamedTuple):
    """A record by its natural key."""

    kind: str
    key: str


class Connect(NamedTuple):
    """A link, or new weight and properties for the one with these ends and this type.

    The id of a `Put` earlier in the same write stands for the record that it became. An end may also be named by its
    key in the author's own scope; `if_there`: without such a record there is no link, and no error.
    `unless_forgotten`: nor where an end is missing because the author's user forgot it. `scope`: drawn as one of this
    scope draws it, who reads what the author writes.
    """

    source_id: str | Key
    target_id: str | Key
    type: str
    salt: bytes
    weight: float = 1.0
    properties: str = "{}"
    if_there: bool = False
    unless_forgotten: bool = False
    scope: Scope | None = None


class Disconnect(NamedTuple):
    source_id: str
    target_id: str
    type: str


class Erase(NamedTuple):
    """Physically, with all versions, contents, words, vectors, links, and traces in receipts, working sets and
    remembered requests.

    `with_derived`: and whatever was derived from it alone. A record that ever had a `DERIVING` link to one that goes,
    whatever its status and whether or not it or the link still holds, goes too, unless such a link that stands leads
    to a record that stays; one of a kind in `retelling` goes even then. It goes whichever agent of the author's user it
    belongs to, and with what all users share, whoever's it is; what all users share never goes with one user's.
    `version`: only while it is the newest one of the record. `scope`: the record of this scope, where an agent and its
    user have one with the same id.
    """

    id: str
    with_derived: bool = False
    version: int | None = None
    scope: Scope | None = None
    retelling: tuple[str, ...] = ()


Change = Put | Amend | Connect | Disconnect | Erase


class EraseTenant(NamedTuple):
    """Everything of a tenant. It is asked of the `TenantStore`, and of a gate before; `apply` does not take it."""

    tenant: str


DERIVED_FROM = "DERIVED_FROM"
"""The type of the link from a record to one that it was made from."""

HAS_TURN = "HAS_TURN"
"""The type of the link from a conversation to a turn: the system alone writes it."""

DERIVING = (DERIVED_FROM, HAS_TURN)
"""The types of links whose source is derived from their targets: a conversation from its turns."""


class Expect(NamedTuple):
    """A precondition: the record has exactly this version (0: there is none with this id or key)."""

    version: int
    id: str | None = None
    kind: str | None = None
    key: str | None = None


class Once(NamedTuple):
    """An idempotency key, and a fingerprint of the request, so that another request under it is noticed. An engine
    keeps the fingerprint salted; a request whose records were erased is known by its key only, and refused."""

    key: str
    fingerprint: bytes


class Author(NamedTuple):
    """On whose behalf: `scope` is the wall, `actor` and `reason` go into the journal. `reviewed`: a person has seen
    what is written, and approved it. `door` is the way that it came; "" where nobody came, as in a job."""

    scope: Scope
    actor: str = "user"
    reason: str | None = None
    reviewed: bool = False
    door: str = ""


class Effect(StrEnum):
    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    ERASED = "erased"
    FORGOTTEN = "forgotten"
    """Not written: it was forgotten before."""
    HELD = "held"
    """Written aside: it takes effect when somebody approves it."""


class Outcome(NamedTuple):
    """What became of one change; `id` is the stored one (a key may have led to an older record)."""

    effect: Effect
    id: str
    version: int = 0


class Applied(NamedTuple):
    """`seq` is the last journal line of this write (unchanged when nothing changed). `repeated`: it had been
    answered before. `scrubbed`: what was erased is gone from the disk too, not only out of reach; otherwise the engine
    owes it, and tries again after later writes. `erased`: the ids of all that went, derived ones included."""

    seq: int
    at: int
    outcomes: tuple[Outcome, ...]
    repeated: bool = False
    scrubbed: bool = True
    erased: tuple[str, ...] = ()


class Mark(NamedTuple):
    """A line of a journal, and the value of the chain at it, that somebody noted elsewhere."""

    seq: int
    head: str


@dataclass(frozen=True, slots=True)
class Verified:
    """`problems` is empty when the journals, the records and all that is derived agree. `seq` and `head` are the end of
    the tenant's journal, `heads` those of all that were proved: by tenant, and None for the store's own. `notes` tell
    of damage that an operator knew of and accepted."""

    seq: int
    head: str
    checked: Mapping[str, int]
    problems: tuple[str, ...] = field(default=())
    heads: Mapping[str | None, Mark] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
