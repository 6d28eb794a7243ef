"""An adapter from examples: recalls as they were asked, and which of their memories helped. Pure, seeded, in float64:
the same examples give the same bytes on one machine.

A memory's score stays what the other channels make it; what is learned is how far the question's vector should turn, so
that what helped comes before what did not. Turning costs where nothing was said: questions of the sample, and those of
the examples, want to stay where they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent_memory.core.recall.adapter import Adapter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

RANK = 8
STEPS = 100
RATE = 0.01
TEMPERATURE = 0.1  # of scores: below it, two memories fit about as well
STAY = 10.0  # how much a turn of a question costs, against one example that is ranked badly
SEED = 6
SURE = 1.28  # standard errors by which it has to be better: chance alone does that once in ten times
LOSS = 0.01  # of the sample's reciprocal ranks, which is a question in a hundred
DISCOUNTED = 10  # places that count


class Example(NamedTuple):
    """One recall: the question's vector, those of the memories that it showed, their scores, which of them were wanted
    (0 or more), and how much it counts. `slope` is what a cosine adds to a score."""

    query: Matrix
    texts: Matrix
    scores: Matrix
    wanted: Matrix
    slope: float = 1.0
    weight: float = 1.0


def fit(examples: Sequence[Example], sample: Matrix, rank: int = RANK) -> Adapter:
    """What ranks the examples best while turning the questions of the `sample` little."""
    import numpy as np

    batch = _batch(examples)
    rng, dimension = np.random.default_rng(SEED), sample.shape[1]
    factors = [rng.normal(size=(rank, dimension)) / math.sqrt(dimension), np.zeros((rank, dimension))]
    still = np.concatenate([sample, batch.queries])
    first, second = ([np.zeros_like(one) for one in factors] for _ in range(2))
    for step in range(1, STEPS + 1):
        gradients = [
            one + other for one, other in zip(_ranking(batch, *factors), _staying(still, *factors), strict=True)
        ]
        for place, gradient in enumerate(gradients):  # Adam
            first[place] = 0.9 * first[place] + 0.1 * gradient
            second[place] = 0.999 * second[place] + 0.001 * gradient**2
            mean, square = first[place] / (1 - 0.9**step), second[place] / (1 - 0.999**step)
            factors[place] = factors[place] - RATE * mean / (np.sqrt(square) + 1e-8)
    down, up = factors
    return Adapter(down, up)


class Batch(NamedTuple):
    """Examples in one piece: what is missing to the longest has a score of minus infinity."""

    queries: Matrix
    texts: Matrix
    rest: Matrix
    wanted: Matrix
    slopes: Matrix
    weights: Matrix


def _batch(examples: Sequence[Example]) -> Batch:
    import numpy as np

    longest = max(len(one.scores) for one in examples)
    queries = np.stack([one.query for one in examples]).astype(np.float64)
    texts = np.zeros((len(examples), longest, queries.shape[1]))
    rest = np.full((len(examples), longest), -np.inf)
    wanted = np.zeros_like(rest)
    for place, one in enumerate(examples):
        count = len(one.scores)
        texts[place, :count] = one.texts
        rest[place, :count] = one.scores - one.slope * (one.texts @ one.query)
        wanted[place, :count] = one.wanted / one.wanted.sum()
    weights = np.array([one.weight for one in examples])
    slopes = np.array([one.slope for one in examples])
    return Batch(queries, texts, rest, wanted, slopes, weights / weights.sum())


def _ranking(batch: Batch, down: Matrix, up: Matrix) -> tuple[Matrix, Matrix]:
    """How `down` and `up` should change so that what was wanted comes first (a softmax over the memories shown)."""
    import numpy as np

    inner = batch.queries @ down.T
    turned = batch.queries + inner @ up
    lengths = np.linalg.norm(turned, axis=1, keepdims=True)
    unit = turned / lengths
    cosines = np.einsum("nmd,nd->nm", batch.texts, unit)
    logits = (batch.rest + batch.slopes[:, None] * cosines) / TEMPERATURE
    likely = np.exp(logits - logits.max(axis=1, keepdims=True))
    likely /= likely.sum(axis=1, keepdims=True)
    error = (likely - batch.wanted) * (batch.weights * batch.slopes / TEMPERATURE)[:, None]
    slope = np.einsum("nm,nmd->nd", error, batch.texts)
    slope = (slope - unit * (slope * unit).sum(axis=1, keepdims=True)) / lengths
    return (slope @ up.T).T @ batch.queries, inner.T @ slope


def _staying(still: Matrix, down: Matrix, up: Matrix) -> tuple[Matrix, Matrix]:
    """How they should change so that these turn less."""
    inner = still @ down.T
    turn = inner @ up
    cost = 2 * STAY / len(still)
    return cost * (turn @ up.T).T @ still, cost * inner.T @ turn


def gain(wanted: Sequence[float]) -> float:
    """How well an order serves: what was wanted, place by place, against the best order there is (nDCG)."""
    best = sorted(wanted, reverse=True)
    most = _discounted(best)
    return _discounted(wanted) / most if most else 0.0


def _discounted(wanted: Sequence[float]) -> float:
    return sum(one / math.log2(place + 2) for place, one in enumerate(wanted[:DISCOUNTED]))


def better(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether the second is better than the first by more than chance is likely to make it."""
    gains = [new - old for old, new in zip(before, after, strict=True)]
    mean = sum(gains) / len(gains)
    spread = sum((one - mean) ** 2 for one in gains) / max(len(gains) - 1, 1)
    return mean > SURE * math.sqrt(spread / len(gains)) and mean > 0


def remembered(adapter: Adapter, queries: Matrix, texts: Matrix) -> float:
    """How early each text comes among all of them for its own query: the mean of the reciprocal places."""
    import numpy as np

    if not len(queries):
        return 1.0
    turned = np.stack([adapter.through(one) for one in queries])
    cosines = turned @ texts.T
    own = np.diagonal(cosines)[:, None]
    return float((1 / (1 + (cosines > own).sum(axis=1))).mean())
