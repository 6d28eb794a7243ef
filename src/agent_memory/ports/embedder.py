"""What we ask of an embedder: a text becomes a unit vector, always the same one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Space:
    """One embedding space. Two embedders with the same `fingerprint` give interchangeable vectors."""

    model: str
    version: str
    dimension: int

    @property
    def fingerprint(self) -> str:
        return f"{self.model}@{self.version}/{self.dimension}"


@dataclass(frozen=True)
class Passage:
    """A stretch of a text that gets a vector of its own: `text[start:end]`."""

    start: int
    end: int


class Embedder(Protocol):
    """Vectors are float32, L2-normalised, and depend on their own text alone (never on a batch)."""

    @property
    def space(self) -> Space:
        """Known without loading any weights."""
        ...

    def passages(self, text: str) -> list[Passage]:
        """Split a text that is too long for one vector; a short one is a single passage."""
        ...

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text, in order."""
        ...
