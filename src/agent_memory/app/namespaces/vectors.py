"""`memory.vectors`: a plain vector store beside recall, behind the same wall. L9."""

from __future__ import annotations

from typing import Any

from agent_memory.app.operations import Namespace, Permission, operation
from agent_memory.models.limits import Hits
from agent_memory.models.model import Model, Name
from agent_memory.ports.vectors import inside


class VectorMatch(Model):
    """`score` is the cosine similarity."""

    id: str
    score: float
    metadata: dict[str, Any]


class Vectors(Namespace):
    """Namespaces of vectors, of this user's own: nobody else reads or deletes them."""

    @operation("vectors.upsert", "PUT /vectors/{namespace}/{id}", permission=Permission.WRITE)
    def upsert(self, namespace: Name, id: Name, vector: list[float], metadata: dict[str, Any] | None = None) -> None:
        """Store a vector under an id; the same id again replaces it."""
        self._client.runtime.store.vectors.upsert(self._inside(namespace), id, vector, metadata or {})

    @operation("vectors.query", "POST /vectors/{namespace}/near")
    def query(
        self,
        namespace: Name,
        vector: list[float],
        k: Hits = 10,
        where: dict[str, Any] | None = None,
    ) -> list[VectorMatch]:
        """The nearest, among those whose metadata equals `where` in every field it names."""
        found = self._client.runtime.store.vectors.query(self._inside(namespace), vector, k, where)
        return [VectorMatch(id=match.id, score=match.score, metadata=dict(match.metadata)) for match in found]

    @operation("vectors.delete", "POST /vectors/{namespace}/delete", permission=Permission.WRITE)
    def delete(self, namespace: Name, ids: list[Name]) -> int:
        """Delete vectors; says how many there were."""
        return self._client.runtime.store.vectors.delete(self._inside(namespace), ids)

    def _inside(self, namespace: str) -> str:
        return inside(self._client.scope, namespace)
