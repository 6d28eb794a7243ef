"""An embedder as the parts of a runtime share it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_memory.app import pricing
from agent_memory.core.govern.metering import EMBEDDING, ModelMeter, TokenPrice, charged
from agent_memory.ports.embedder import Embedder, Passage, Space, embed_and_count
from agent_memory.ports.forks import ForkGuard
from agent_memory.ports.spans import asked_of_model, tell

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Guarded:
    """An embedder that no fork catches at work. One that is a service is asked as much as the budgets allow, where
    there is a `meter`."""

    def __init__(self, embedder: Embedder, meter: ModelMeter | None = None, price: float | None = None) -> None:
        self.embedder = embedder
        self.guard = ForkGuard()
        self._known = pricing.known(embedder) if price is None else TokenPrice(price)
        self._meter = None if self.service is None else meter

    @property
    def space(self) -> Space:
        return self.embedder.space

    @property
    def earlier(self) -> Sequence[Space]:
        return getattr(self.embedder, "earlier", ())

    @property
    def service(self) -> str | None:
        """Who is asked, if it is a service."""
        return getattr(self.embedder, "service", None)

    def passages(self, text: str) -> list[Passage]:
        with self.guard:
            return self.embedder.passages(text)

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_and_count(texts)[0]

    def embed_and_count(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        if self._meter is None:
            return self._embedded(texts)
        account, read = self._meter.account(EMBEDDING, self.space.model), sum(map(self._meter.count, texts))
        return charged(self._meter, account, read, self._known, lambda: self._embedded(texts))

    def _embedded(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        with self.guard, asked_of_model("embeddings", self.space.model, self.service, texts=len(texts)):
            rows, tokens = embed_and_count(self.embedder, texts)
            tell(**{"gen_ai.usage.input_tokens": tokens, "gen_ai.embeddings.dimension.count": self.space.dimension})
            return rows, tokens
