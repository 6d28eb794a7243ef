"""The embedder that the settings name, for whoever wants vectors and no store. C14."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_memory.app import config, registry

if TYPE_CHECKING:
    from agent_memory.ports.embedder import Embedder


class TextEmbedder:
    """Texts in, plain lists of numbers out, as `memory.embedder` has them."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed(self, texts: str | list[str]) -> list[list[float]]:
        """One vector per text."""
        vectors: list[list[float]] = self._embedder.embed_many([texts] if isinstance(texts, str) else texts).tolist()
        return vectors

    def embed_single(self, text: str) -> list[float]:
        """The vector of one text."""
        return self.embed(text)[0]


def get_embedder() -> TextEmbedder:
    """Nothing is loaded before it is used."""
    return TextEmbedder(registry.open_embedder(config.load()))
