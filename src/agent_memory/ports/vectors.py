"""A plain vector store for whoever wants one beside recall. L9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_memory.models.record import SHARED, Scope

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


def sees(namespace: str, scope: Scope) -> bool:
    """Whether whoever has this namespace, as `inside` calls it, sees what is in `scope`."""
    match namespace.split(_PARTED):
        case tenant, user, agent, _:
            return tenant == scope.tenant and scope.user in (user, SHARED) and scope.agent in (agent, SHARED)
    return False


def belongs(namespace: str, tenant: str) -> bool:
    """Whether a namespace, as `inside` calls it, is a tenant's."""
    return namespace.startswith(f"{tenant}{_PARTED}")


@dataclass(frozen=True)
class Match:
    """`score` is the cosine similarity."""

    id: str
    score: float
    metadata: Mapping[str, Any] = field(default_factory=dict)


class VectorStore(Protocol):
    """Namespaces are independent; within one, all vectors have one dimension and ids are unique."""

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
