"""`memory.embedder`: vectors as plain lists. C14."""

from __future__ import annotations

from agent_memory.app.operations import Namespace, operation


class Embedder(Namespace):
    """Texts as vectors of the store's embedder."""

    @operation("embedder.embed", "POST /embed")
    def embed(self, texts: str | list[str]) -> list[list[float]]:
        """One vector per text."""
        given = [texts] if isinstance(texts, str) else texts
        vectors: list[list[float]] = self._client.runtime.embedding.embed(given).tolist()
        return vectors

    @operation("embedder.embed_single", "POST /embed/one")
    def embed_single(self, text: str) -> list[float]:
        """The vector of one text."""
        vector: list[float] = self._client.runtime.embedding.embed([text])[0].tolist()
        return vector
