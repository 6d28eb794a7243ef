"""Vectors in namespaces: a store of them, anywhere, and the mirror that the records' engine keeps. L5, L9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from agent_memory.models.record import SHARED, Scope
from agent_memory.ports.feed import Work

VECTORS = "vectors "
"""What the name of a place begins with that is a store of vectors."""
_PARTED = "\x1f"  # no name can hold it


def inside(scope: Scope, namespace: str) -> str:
    """What a namespace of a scope is called in the store: whose it is stands before its name."""
    return _PARTED.join((scope.tenant, scope.user, scope.agent, namespace))


def owner(namespace: str) -> str | None:
    """The tenant whose namespace this is, as `inside` calls it; None: nobody's."""
    match namespace.split(_PARTED):
        case tenant, _, _, _:
            return tenant
    return None


def whose(namespace: str) -> Scope | None:
    """Whose namespace this is; None: nobody's."""
    match namespace.split(_PARTED):
        case tenant, user, agent, _:
            return Scope(tenant=tenant, user=user, agent=agent)
    return None


def called(namespace: str) -> str:
    """The name that its owner gave to a namespace, for errors."""
    return namespace.rpartition(_PARTED)[2]


def sees(namespace: str, scope: Scope) -> bool:
    """Whether whoever has this namespace, as `inside` calls it, sees what is in `scope`."""
    match namespace.split(_PARTED):
        case tenant, user, agent, _:
            return tenant == scope.tenant and scope.user in (user, SHARED) and scope.agent in (agent, SHARED)
    return False


def belongs(namespace: str, tenant: str) -> bool:
    """Whether a namespace, as `inside` calls it, is a tenant's."""
    return namespace.startswith(f"{tenant}{_PARTED}")


def beginning(scope: Scope) -> str:
    """What the names of all namespaces of a scope begin with."""
    return inside(scope, "")


@dataclass(frozen=True)
class Match:
    """`score` is the cosine similarity."""

    id: str
    score: float
    metadata: Mapping[str, Any] = field(default_factory=dict)


class VectorStore(Protocol):
    """Namespaces are independent; within one, all vectors have one dimension and ids are unique.

    A vector or a question that it will never take raises `InvalidInput`, of `agent_memory.models.errors`: that alone is
    a refusal, and the next one is told. Anything else that is raised means that the store is away: it is left alone for
    a while, the mirror answers, and the same vector is told again before any later one."""

    def upsert(self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any]) -> None: ...

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        """The k nearest among those whose metadata equals `where` in every field it names."""
        ...

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        """How many there were."""
        ...

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        """Erase for good what has one of these ids in any namespace that `sees` the scope. Asked of vectors that are
        not on the records' engine, again and again until it does not raise."""
        ...

    def forget_tenant(self, tenant: str) -> None:
        """Erase for good every namespace of a tenant. Asked in the same way."""
        ...


@dataclass(frozen=True, slots=True)
class Settled:
    """What a namespace holds: so many vectors of one model (None: nobody said which) and one dimension."""

    namespace: str
    model: str | None
    dimension: int
    vectors: int


@dataclass(frozen=True, slots=True)
class HeldVector:
    """An embedding that a record has, and its score when a query last gave it."""

    namespace: str
    model: str | None
    vector: Sequence[float]
    metadata: Mapping[str, Any]
    score: float | None = None
    scored_at: int | None = None


class PlacedVector(NamedTuple):
    """That a namespace has a vector under an id, by which model and with what."""

    namespace: str
    id: str
    model: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scored:
    """That a query gave an id, and when."""

    namespace: str
    id: str
    score: float
    at: int


@dataclass(frozen=True, slots=True)
class Missed:
    """What a place has not been told yet: a vector, or (None) that there is none any more. `number` grows with every
    change, so that whoever tells the place does not take a later one for told."""

    namespace: str
    id: str
    number: int
    vector: Sequence[float] | None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lag:
    """How many vectors a place has not been told yet, since when, and what went wrong when it was last asked."""

    place: str
    vectors: int
    since: int
    error: str | None = None


class Mirror(VectorStore, Protocol):
    """Namespaces on the records' engine: all vectors there are, whether or not another store has them, too.

    A place outside (`DebtStore.attach`) whose name begins with `VECTORS` is such a store. Every change is noted for it
    in the transaction that makes it, whichever process that is in; what was there before it was attached is, too. Where
    a record is erased, only what is noted for it stays noted: the debt tells the place the rest."""

    def upsert(
        self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any], model: str | None = None
    ) -> None:
        """`model`: which one made it. All of a namespace are of one."""
        ...

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        """How many there were. The place is told also of those that were not: it may be older than the mirror."""
        ...

    def settled(self, namespace: str) -> tuple[int, str | None] | None:
        """The dimension and the model of a namespace; None where it is empty."""
        ...

    def namespaces(self, scope: Scope) -> list[Settled]:
        """Those of exactly this scope, by name."""
        ...

    def held(self, scope: Scope, id: str) -> list[HeldVector]:
        """What has this id in the namespaces of exactly this scope, by name."""
        ...

    def places(self, scope: Scope, ids: Sequence[str]) -> list[PlacedVector]:
        """What has one of these ids in any namespace that `sees` the scope."""
        ...

    def scored(self, scores: Sequence[Scored]) -> None:
        """Keep the last score of each; what is not there any more has none."""
        ...

    def lags(self) -> list[Lag]:
        """The places that have not been told everything, by name."""
        ...

    def lags_in(self, place: str, namespace: str) -> bool:
        """Whether the place has not been told everything about a namespace, or must still forget something of its
        tenant: then it cannot answer for it."""
        ...

    def missed(self, place: str, after: int, limit: int) -> list[Missed]:
        """In the order of their numbers, as they stand now."""
        ...

    def told(self, place: str, rows: Sequence[Missed], work: Work) -> None:
        """The place knows them, unless they changed since; what went wrong there before is over. `LeaseLost` when
        another has the lease."""
        ...

    def untold(self, place: str, rows: Sequence[Missed]) -> None:
        """What the place was told may be out of date: it has to be told again."""
        ...
