"""An embedder for OpenAI and for every server that speaks its `/v1/embeddings`.

The provider decides how exactly a vector repeats itself; we only promise order, length 1 and the dimension.
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
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
BATCH = 128  # texts in a request
LONGEST = 2500  # characters: at three tokens each, the worst there is, they still fit the models' 8,191
_SHORTENABLE = "text-embedding-3-"  # the models that can be asked for fewer dimensions


class OpenAIEmbedder:
    """Of a text longer than 2,500 characters the beginning counts: embed its passages.

    `base_url` is as OpenAI's own client wants it, with the `/v1`. A model that is not OpenAI's needs `dimensions`.
    """

    service = "openai"

    def __init__(
        self,
        *,
        model: str = "text-embedding-3-small",
        dimensions: int | None = None,
        api_key: str | None = None,
        base_url: str = "https://api.openai.com/v1",
        timeout: float = 30.0,
        attempts: int = 4,
    ) -> None:
        dimension = dimensions or DIMENSIONS.get(model)
        if dimension is None:
            raise InvalidInput(f"How many dimensions {model} has is not known", field="dimensions", hint="set it")
        self._space = Space(model, "openai", dimension)
        self._body: dict[str, object] = {"model": model, "encoding_format": "float"}
        if model.startswith(_SHORTENABLE) and dimension != DIMENSIONS.get(model):
            self._body["dimensions"] = dimension
        self._remote = Remote("OpenAI", base_url, api_key, timeout, attempts)

    @property
    def space(self) -> Space:
        return self._space

    def passages(self, text: str) -> list[Passage]:
        """Passages of at most 2,000 characters."""
        return split_text(text)

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, in order; a request for each 128 texts."""
        return self.embed_and_count(texts)[0]

    def embed_and_count(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        """The same, and the tokens that the service says it read."""
        return in_batches(texts, BATCH, self._space.dimension, self._ask)

    def _ask(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        body = {**self._body, "input": [sendable(text[:LONGEST]) for text in texts]}
        answer = self._remote.post("/embeddings", body, hint="check base_url, the model's name and the network")
        try:
            rows = {item["index"]: item["embedding"] for item in answer["data"]}
            ordered = [rows[number] for number in range(len(texts))]
        except (LookupError, TypeError) as error:
            raise self._remote.unreadable("it is not a list of numbered embeddings") from error
        return unit_rows(ordered, len(texts), self._space, self._remote), told(answer, "usage", "total_tokens")
