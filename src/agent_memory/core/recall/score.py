"""From evidence to a ranking: BM25, normalisation, fusion, relevance. Pure arithmetic, the same on every engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent_memory.models.recipe import Recipe
from agent_memory.ports.index import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1, B = 1.2, 0.75
UNRELATED, SAME = 0.10, 0.75  # cosine similarities of MiniLM at which two texts have nothing, or all, in common
DAY = 86_400_000_000


@dataclass(frozen=True)
class Ranking:
    """Rows of a pool, best first, with what each channel added."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float64]
    relevance: NDArray[np.float64]
    channels: dict[str, NDArray[np.float64]]


def rank(pool: Pool, recipe: Recipe, now: int) -> Ranking:
    """Score every candidate; ties go to the newer record."""
    import numpy as np

    idf = inverse_frequencies(pool)
    similarity = np.nan_to_num(pool.similarity.astype(np.float64), nan=-1.0)
    age_days = np.maximum(now - pool.valid_from, 0) / DAY
    channels = {
        "vectors": recipe.vectors * stretched(similarity, np.isfinite(pool.similarity)),
        "words": recipe.words * stretched(bm25(pool, idf), pool.counts.max(axis=1, initial=0) > 0),
        "recency": recipe.recency * np.exp2(-age_days / recipe.half_life_days),
        "key": recipe.key * pool.exact.astype(np.float64),
    }
    scores = np.sum(list(channels.values()), axis=0)
    rows = np.lexsort((-pool.handles, -scores))
    return Ranking(rows, scores, relevance(pool, idf, similarity), channels)


def inverse_frequencies(pool: Pool) -> NDArray[np.float64]:
    """How telling each term is among everything that this reader may see."""
    import numpy as np

    weights: NDArray[np.float64] = np.log1p((pool.documents - pool.frequencies + 0.5) / (pool.frequencies + 0.5))
    return weights


def bm25(pool: Pool, idf: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    counts = pool.counts.astype(np.float64)
    length = pool.lengths / max(pool.mean_length, 1e-9)
    saturated = counts * (K1 + 1) / (counts + (K1 * (1 - B + B * length))[:, None])
    scores: NDArray[np.float64] = saturated @ idf
    return scores


def stretched(values: NDArray[np.float64], present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Min-max to 0..1 over the candidates that have this evidence; the others get 0. (Beats ranks: docs/decisions)"""
    import numpy as np

    result = np.zeros(len(values))
    if present.any():
        low, high = values[present].min(), values[present].max()
        result[present] = (values[present] - low) / (high - low) if high > low else 1.0
    return result


def relevance(pool: Pool, idf: NDArray[np.float64], similarity: NDArray[np.float64]) -> NDArray[np.float64]:
    """Independent evidence: how near in meaning, and how much of the question's weight in words is there."""
    import numpy as np

    near = np.clip((similarity - UNRELATED) / (SAME - UNRELATED), 0, 1)
    covered = (pool.counts > 0) @ idf / idf.sum() if len(idf) and idf.sum() > 0 else np.zeros(len(near))
    combined: NDArray[np.float64] = np.where(pool.exact, 1.0, 1 - (1 - near) * (1 - 0.6 * covered))
    return combined
