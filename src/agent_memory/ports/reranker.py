"""What we ask of a reranker: how well texts answer a question, better judged and dearer than a search can do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Reranker(Protocol):
    """Scores are finite, higher is better, on whatever scale: only their order within one recall counts."""

    @property
    def name(self) -> str:
        """Model and version: two of the same name give interchangeable scores. Receipts hold it."""
        ...

    def score(self, query: str, texts: Sequence[str], seconds: float) -> Sequence[float]:
        """One score per text, in order. `seconds` is how long the caller will wait: what can give up, does.
        `PartMissing` when it is out of reach."""
        ...
