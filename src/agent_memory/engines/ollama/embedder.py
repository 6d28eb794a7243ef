"""An embedder for Ollama (`/api/embed`): local models other than our own, on this machine or the next one.

Ollama decides how exactly a vector repeats itself; we only promise order, length 1 and the dimension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_memory.models.errors import InvalidInput
from agent_memory.ports.embedder import Passage, Space, split_text
from agent_memory.ports.remote import Remote, in_batches, sendable, told, unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = {
    "all-minilm": 384,
    "bge-m3": 1024,
    "mxbai-embed-large": 1024,
    "nomic-embed-text": 768,
    "snowflake-arctic-embed2": 1024,
}
BATCH = 64  # texts in a request


class OllamaEmbedder:
    """Ollama itself cuts a text that its model cannot read whole. A model not in `DIMENSIONS` needs `dimensions`."""

    service = "ollama"

    def __init__(
        self,
        *,
        model: str = "nomic-embed-text",
        dimensions: int | None = None,
        base_url: str = "http://127.0.0.1:11434",
        timeout: float = 60.0,  # the first request waits for the model to be loaded
        attempts: int = 3,
    ) -> None:
        dimension = dimensions or DIMENSIONS.get(model.partition(":")[0])
        if dimension is None:
            raise InvalidInput(f"How many dimensions {model} has is not known", field="dimensions", hint="set it")
        self._space = Space(model, "ollama", dimension)
        self._remote = Remote("Ollama", base_url, None, timeout, attempts)

    @property
    def space(self) -> Space:
        return self._space

    def passages(self, text: str) -> list[Passage]:
        """Passages of at most 2,000 characters."""
        return split_text(text)

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, in order; a request for each 64 texts."""
        return self.embed_and_count(texts)[0]

    def embed_and_count(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        """The same, and the tokens that the service says it read."""
        return in_batches(texts, BATCH, self._space.dimension, self._ask)

    def _ask(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        model = self._space.model
        body = {"model": model, "input": [sendable(text) for text in texts], "truncate": True}
        hint = f"start it with `ollama serve` and fetch the model with `ollama pull {model}`"
        answer = self._remote.post("/api/embed", body, hint=hint)
        rows = answer.get("embeddings") if isinstance(answer, dict) else None
        return unit_rows(rows, len(texts), self._space, self._remote), told(answer, "prompt_eval_count")
