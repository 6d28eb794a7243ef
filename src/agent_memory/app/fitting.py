"""How well what pages say fits a task. Vectors of pages are kept in this process, and stored nowhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from agent_memory.models.errors import PartMissing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BEGINNING = 1000  # characters of a text whose meaning is compared; its words count to the end
MOST_EMBEDDED = 200  # texts; those after them are judged by their words
MOST_KEPT = 2000

Embed = Callable[[list[str]], Iterable[Any]]
"""Unit vectors, one for each text."""

_kept: dict[tuple[str, str], NDArray[np.float32]] = {}


def fitting(task: str, texts: Sequence[str], embed: Embed, space: str, now: int) -> list[float]:
    """0 to 1 for each text. `space` names what `embed` makes, so that vectors of two embedders never meet."""
    if not texts:
        return []
    from agent_memory.core.rules.fitting import fitness

    try:
        near = _near(task, [text[:BEGINNING] for text in texts], embed, space)
    except PartMissing:
        near = None
    return fitness(task, texts, near, now)


def _near(task: str, texts: list[str], embed: Embed, space: str) -> NDArray[np.float32]:
    import numpy as np

    chosen = list(dict.fromkeys(texts))[:MOST_EMBEDDED]
    have = {text: row for text in chosen if (row := _kept.get((space, text))) is not None}
    new = [text for text in chosen if text not in have]
    query, *rows = (np.asarray(row, np.float32) for row in embed([task, *new]))
    have |= dict(zip(new, rows, strict=True))
    if len(_kept) + len(new) > MOST_KEPT:
        _kept.clear()
    _kept.update({(space, text): have[text] for text in new})
    return np.array([have[text] @ query if text in have else np.nan for text in texts], np.float32)
