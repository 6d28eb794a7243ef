"""How well texts of pages fit a task, by the measure that recall has for records: meaning and words. Pages are read
where they stand, so their texts are compared in memory, and nothing is stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_memory.core.recall.question import read
from agent_memory.core.recall.score import rank
from agent_memory.core.recall.shape import shape
from agent_memory.core.write.words import terms
from agent_memory.models.moment import from_micros
from agent_memory.models.recipe import DEFAULT
from agent_memory.ports.index import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = 8  # bytes that stand for one


def fitness(task: str, texts: Sequence[str], near: NDArray[np.float32] | None, now: int) -> list[float]:
    """0 to 1 for each text, comparable with the relevance of hits. `near` are their cosines with the task; None: no
    embedder was in reach, and words decide."""
    import numpy as np

    asked = read(task, from_micros(now))
    if shape(asked, ()) == "prose":
        asked = asked.as_prose()
    rows, lengths = [], []
    for text in texts:
        found = terms(text)
        hashes = [int.from_bytes(found.hashes[at : at + WORD], "little") for at in range(0, len(found.hashes), WORD)]
        times = dict(zip(hashes, found.counts, strict=True))
        rows.append([times.get(column, 0) for column in asked.columns])
        lengths.append(found.length)
    counts = np.array(rows, np.uint8).reshape(len(texts), len(asked.columns))
    many = len(texts)
    pool = Pool(
        seq=0,
        handles=np.arange(many, dtype=np.int64),
        valid_from=np.full(many, now, np.int64),
        importance=np.zeros(many, np.float32),
        conversations=np.zeros(many, np.int32),
        similarity=np.full(many, np.nan, np.float32) if near is None else near,
        counts=np.asfortranarray(counts),
        lengths=np.array(lengths, np.int32),
        exact=np.zeros(many, np.bool_),
        documents=many,
        pending=0,
        frequencies=(counts > 0).sum(axis=0).astype(np.int64),
    )
    found_fit: list[float] = rank(pool, asked, DEFAULT, now).relevance.tolist()
    return found_fit
