"""What we ask of a reranker: how well texts answer a question, better judged and dearer than a search can do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

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


class TextInPlace(NamedTuple):
    """A text, who said it and when ("Priya, 3 May 2023"), and the turn before it."""

    text: str
    lead: str = ""
    before: str = ""


@runtime_checkable
class Judging(Protocol):
    """A reranker may have this, too: then it is asked for the odds that a text answers, which count beside the score
    that a text had, and in its relevance."""

    at_once: int
    """How many texts it is asked for at a time: after each call it is seen whether there is time for another."""

    def load(self) -> None:
        """Whatever has to be done before the first: its time does not count. `PartMissing` when it is out of reach."""
        ...

    def judge(self, query: str, told: Sequence[TextInPlace], seconds: float) -> Sequence[float]:
        """For each, in order, the log of the odds that it answers."""
        ...
