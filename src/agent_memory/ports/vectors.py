"""A plain vector store for whoever wants one beside recall. L9."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


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
