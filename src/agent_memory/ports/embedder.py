"""What we ask of an embedder: a text becomes a unit vector, always the same one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray


class Space(NamedTuple):
    """One embedding space. Two embedders with the same `fingerprint` give interchangeable vectors."""

    model: str
    version: str
    dimension: int

    @property
    def fingerprint(self) -> str:
        return f"{self.model}@{self.version}/{self.dimension}"


class Passage(NamedTuple):
    """A stretch of a text that gets a vector of its own: `text[start:end]`."""

    start: int
    end: int


class Embedder(Protocol):
    """Vectors are float32, L2-normalised, and depend on their own text alone (never on a batch).

    One that knows what it costs may say so: `embed_and_count(texts)` gives the rows and how many tokens were read (None
    where a service did not tell), and `price` is that of a million tokens. `service` names who is asked, if one is.
    `earlier` are the spaces of models whose place it takes: a store that holds one of them is moved to its own.
    """

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


def embed_and_count(embedder: Embedder, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
    """The rows, and how many tokens were read for them; None from an embedder that does not count."""
    counted: Callable[[Sequence[str]], tuple[NDArray[np.float32], int | None]] | None
    counted = getattr(embedder, "embed_and_count", None)
    return counted(texts) if counted else (embedder.embed_many(texts), None)


def split_text(text: str, size: int = 2000, overlap: int = 200, limit: int = 512) -> list[Passage]:
    """Passages for a model whose word pieces we cannot count: at most `size` characters each.

    They cover the text in order, and each repeats about `overlap` characters of the one before. A cut falls on the
    end of a sentence if there is one in the last third, else on white space if there is any. Of a text that
    needs more than `limit` passages only the first part is cut: the rest is found by its words alone.
    """
    passages: list[Passage] = []
    start = 0
    while len(text) - start > size:
        end = _last_break(text, start + size * 2 // 3, start + size)
        passages.append(Passage(start, end))
        if len(passages) == limit:
            return passages
        space = text.find(" ", end - overlap, end)
        start = end - overlap if space < 0 else space + 1
    return [*passages, Passage(start, len(text))]


def _last_break(text: str, start: int, end: int) -> int:
    """The best place for a cut after `start` and not after `end`."""
    for marks in (("\n", ". ", "! ", "? ", "。"), (" ", "\t", "\u3000")):
        places = [(text.rfind(mark, start, end), len(mark)) for mark in marks]
        found = max((at + length for at, length in places if at >= 0), default=0)
        if found:
            return found
    return end
