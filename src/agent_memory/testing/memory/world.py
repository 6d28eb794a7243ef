"""Everything that the reference engine knows, as rows in dicts.

Rows are frozen: a change puts another row in the place of one. So a shallow copy of the dicts is a snapshot; a writer
works on a copy, and a write that fails is a copy that is thrown away.
"""

from __future__ import annotations

import copy
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields

from agent_memory.models.errors import StoreError
from agent_memory.models.record import Scope
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.changes import Applied, Vector, VersionState, Vocabulary
from agent_memory.ports.embedder import Space
from agent_memory.ports.feed import Cursor, JobOutcome, Lease
from agent_memory.ports.reading import ReadLine
from agent_memory.ports.spending import Account, DaySpending, SpendingLimit
from agent_memory.ports.working import Desk

PUT, AMEND, CONNECT, DISCONNECT, ERASE, EMBED, ADOPT, KEY, TENANT, DEPARTED = (
    "put",
    "amend",
    "connect",
    "disconnect",
    "erase",
    "embed",
    "adopt",
    "key",
    "tenant",
    "departed",
)
OURSELVES = "agent-memory"  # the actor of what the library does by itself
GENESIS = bytes(32)


@dataclass(frozen=True)
class ToyRecord:
    """A record without its versions; its number is the journal line that brought it."""

    number: int
    id: str
    scope: Scope
    kind: str


@dataclass(frozen=True)
class ToyBody:
    """A content and what was derived from it, vectors apart."""

    number: int
    record: int
    text: str
    payload: str
    salt: bytes
    terms: dict[int, int] = field(default_factory=dict)
    length: int = 0
    fields: tuple[tuple[str, str | int | float], ...] = ()


@dataclass(frozen=True)
class ToyVersion:
    """`seq` to `ended`, half open: the recorded interval."""

    seq: int
    record: int
    number: int
    body: int
    state: VersionState
    ended: int | None = None


@dataclass(frozen=True)
class Made:
    """A vector, and the line that brought it."""

    seq: int
    vector: Vector


@dataclass(frozen=True)
class ToyLink:
    """A link, believed from `seq` to `ended`."""

    seq: int
    source: int
    target: int
    type: str
    scope: Scope
    weight: float
    properties: str
    salt: bytes
    ended: int | None = None


@dataclass(frozen=True)
class ToyLine:
    """One line of a journal. `scope` None: it is one of the store's own journal, and no reader's."""

    seq: int
    at: int
    operation: str
    scope: Scope | None
    record: int | None
    record_id: str | None
    actor: str
    reason: str | None
    proof: bytes
    chain: bytes


@dataclass(frozen=True)
class Slip:
    """A receipt, the records that it showed or named, and the words of its query."""

    scope: Scope
    body: str
    told: frozenset[int]
    at: int
    terms: tuple[frozenset[int], ...] = ()  # in each vocabulary


@dataclass(frozen=True)
class Duty:
    """A job: the last lease of it, from when to when it is good (None: nobody holds it), and what came of runs."""

    lease: Lease | None = None
    good: tuple[int, int] | None = None
    tokens: int = 0
    ran: tuple[int, JobOutcome] | None = None
    failed: tuple[int, str] | None = None


@dataclass(frozen=True)
class ToySignature:
    """Who writes lines, why and when."""

    now: int
    actor: str
    reason: str | None = None


@dataclass
class ToyJournal:
    """Lines, numbered without gaps."""

    lines: list[ToyLine] = field(default_factory=list)

    @property
    def seq(self) -> int:
        return len(self.lines)

    def clock(self, now: int) -> int:
        """Recorded time never goes backwards."""
        return max(now, self.lines[-1].at) if self.lines else now

    def note(
        self, by: ToySignature, operation: str, scope: Scope | None, record: ToyRecord | None, proof: bytes
    ) -> int:
        """Append a line to the journal; its seq."""
        line = ToyLine(
            seq=self.seq + 1,
            at=self.clock(by.now),
            operation=operation,
            scope=scope,
            record=record.number if record else None,
            record_id=record.id if record else None,
            actor=by.actor,
            reason=by.reason,
            proof=proof,
            chain=b"",
        )
        before = self.lines[-1].chain if self.lines else GENESIS
        self.lines.append(ToyLine(**{**line.__dict__, "chain": chained(before, line)}))
        return line.seq


Picture = tuple[float, bytes, str, str | None]
"""A vector in a namespace: scale, numbers, metadata, model."""


@dataclass
class ToyWorld(ToyJournal):
    """What one tenant has. Keys are numbers given by its journal, except where the type says otherwise."""

    entries: dict[int, ToyRecord] = field(default_factory=dict)
    bodies: dict[int, ToyBody] = field(default_factory=dict)
    versions: dict[int, ToyVersion] = field(default_factory=dict)
    edges: dict[int, ToyLink] = field(default_factory=dict)
    spaces: list[Space] = field(default_factory=list)  # the store's, as are the next five
    namespaces: dict[tuple[str, str], Picture] = field(default_factory=dict)
    scores: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)
    missed: dict[tuple[str, str, str], int] = field(default_factory=dict)
    places: dict[str, str | None] = field(default_factory=dict)
    debts: dict[tuple[str, Scope, str | None], tuple[int, int]] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None  # the store's, or the one that this tenant is the first to write in
    vectors: dict[tuple[Space, int], tuple[Made, ...]] = field(default_factory=dict)  # by body
    pending: dict[tuple[Space, int], int] = field(default_factory=dict)  # by body: the first part that lacks
    answers: dict[tuple[Scope, str], tuple[bytes, Applied] | None] = field(default_factory=dict)  # None: forgotten
    receipts: dict[str, Slip] = field(default_factory=dict)
    accesses: dict[int, tuple[int, ...]] = field(default_factory=dict)  # by record: when
    values: dict[tuple[Desk, str], tuple[str, int]] = field(default_factory=dict)
    lists: dict[tuple[Desk, str], tuple[tuple[str, int], ...]] = field(default_factory=dict)  # oldest first

    def copy(self) -> ToyWorld:
        return ToyWorld(**{one.name: copy.copy(getattr(self, one.name)) for one in fields(self)})

    def scope_of(self, body: int) -> Scope:
        return self.entries[self.bodies[body].record].scope


@dataclass
class Worlds(ToyJournal):
    """The worlds of all tenants; beside them what belongs to the store, with a journal of its own."""

    tenants: dict[str, ToyWorld] = field(default_factory=dict)
    spaces: list[Space] = field(default_factory=list)  # the first is active
    vocabulary: Vocabulary | None = None  # all words are in it: a rebuild is done at once
    accessed_since: int = 0  # earlier accesses only count
    namespaces: dict[tuple[str, str], Picture] = field(default_factory=dict)
    scores: dict[tuple[str, str], tuple[float, int]] = field(default_factory=dict)  # and when
    missed: dict[tuple[str, str, str], int] = field(default_factory=dict)  # by place: the number of the last change
    places: dict[str, str | None] = field(default_factory=dict)  # with their last errors
    debts: dict[tuple[str, Scope, str | None], tuple[int, int]] = field(default_factory=dict)  # line, since when
    keys: dict[str, KeyRow] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    reads: list[ReadLine] = field(default_factory=list)
    zone: str | None = None
    spent: dict[Account, DaySpending] = field(default_factory=dict)
    budgets: dict[tuple[str, str, str], SpendingLimit] = field(default_factory=dict)  # by what, tenant and whom
    duties: dict[str, Duty] = field(default_factory=dict)  # by job
    cursors: dict[tuple[str, str], Cursor] = field(default_factory=dict)  # by job and tenant, the last moved last

    def copy(self) -> Worlds:
        draft = Worlds(**{one.name: copy.copy(getattr(self, one.name)) for one in fields(self)})
        draft.tenants = {name: world.copy() for name, world in self.tenants.items()}
        return draft

    def of(self, tenant: str) -> ToyWorld:
        """An empty one where the tenant has never written."""
        world = self.tenants.setdefault(tenant, ToyWorld())
        for name in ("spaces", "namespaces", "scores", "missed", "places", "debts"):
            setattr(world, name, getattr(self, name))
        world.vocabulary = self.vocabulary or world.vocabulary
        return world

    def settle(self) -> None:
        """A tenant that has written its first lines gets one in the store's journal."""
        new = (one.vocabulary for one in self.tenants.values() if one.vocabulary)
        self.vocabulary = self.vocabulary or next(new, None)
        for name, world in self.tenants.items():
            world.vocabulary = self.vocabulary
            if world.lines and not self.founded(name):
                self.note(ToySignature(world.lines[0].at, OURSELVES), TENANT, None, None, named(name))

    def founded(self, tenant: str) -> int:
        """The line that tells of a tenant; 0: none does, or it went since."""
        told = (line for line in reversed(self.lines) if line.proof == named(tenant))
        return next((line.seq if line.operation == TENANT else 0 for line in told), 0)


class ToyRoom:
    """Where the worlds of now are kept. One lock for everybody."""

    def __init__(self) -> None:
        self._world = Worlds()
        self._lock = threading.RLock()
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[Worlds]:
        with self._lock:
            self._check()
            yield self._world

    @contextmanager
    def writing(self) -> Iterator[Worlds]:
        """A copy, which takes the place of the worlds when all went well."""
        with self._lock:
            self._check()
            draft = self._world.copy()
            yield draft
            draft.settle()
            self._world = draft

    def vocabularies(self) -> tuple[Vocabulary, ...]:
        with self.reading() as world:
            return () if world.vocabulary is None else (world.vocabulary,)

    def close(self) -> None:
        self._closed = True

    def after_fork(self, child: bool) -> None:
        if child:
            self._lock = threading.RLock()  # another thread of the parent may have held it

    def _check(self) -> None:
        if self._closed:
            raise StoreError("the store is closed", hint="open a new one")


def named(tenant: str) -> bytes:
    return hashlib.sha256(tenant.encode()).digest()


def chained(before: bytes, line: ToyLine) -> bytes:
    """Each line seals itself and, through `before`, all lines that came before it."""
    said = [line.seq, line.at, line.operation, str(line.scope), line.record, line.actor, line.reason]
    return hashlib.sha256(before + json.dumps(said).encode() + line.proof).digest()


def sealed(salt: bytes, *values: object) -> bytes:
    """Proves values without telling them."""
    return hashlib.sha256(salt + json.dumps(values, default=str).encode()).digest()


def version_proof(body: ToyBody, state: VersionState) -> bytes:
    return sealed(body.salt, body.text, body.payload, *state)


def edge_proof(edge: ToyLink) -> bytes:
    return sealed(edge.salt, edge.source, edge.target, edge.type, edge.weight, edge.properties)
