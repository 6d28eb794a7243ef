"""From evidence to a ranking: BM25 over windows, normalisation, fusion. Pure arithmetic, the same on
every engine. Each channel is a function from the evidence to one number per candidate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING

from agent_memory.core.recall.dates import Period
from agent_memory.core.recall.question import Asked
from agent_memory.core.recall.relevance import relevance
from agent_memory.models.moment import to_micros
from agent_memory.models.recipe import Recipe
from agent_memory.ports.index import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

K1, B = 1.2, 0.75
OWN = 2.0  # how much a text's own words count; a neighbour's count `near_words` times that
VAGUE = 0.5  # what a vague period ("recently") counts of an exact one
DAY = 86_400_000_000
NOTHING: Mapping[int, float] = MappingProxyType({})
NOISE = 1e-6  # below it, similarities differ by arithmetic, not by meaning


@dataclass(frozen=True)
class Ranking:
    """Rows of a pool, best first, with what each channel added."""

    rows: NDArray[np.int64]
    scores: Numbers
    relevance: Numbers
    channels: dict[str, Numbers]


def rank(pool: Pool, asked: Asked, recipe: Recipe, now: int, reached: Mapping[int, float] = NOTHING) -> Ranking:
    """Score every candidate; ties go to the newer record. `reached` is what links lead to, by handle."""
    import numpy as np

    evidence = Evidence(pool, asked, reached)
    channels = decayed(evidence, recipe, now) if recipe.formula == "decay" else fused(evidence, recipe, now)
    scores = np.sum(list(channels.values()), axis=0)
    rows = np.lexsort((-pool.handles, -scores))
    return Ranking(rows, scores, relevance(evidence, recipe), channels)


def fused(evidence: Evidence, recipe: Recipe, now: int) -> dict[str, Numbers]:
    """Every channel at its weight; the conversation's share comes from what the others add up to."""
    pool = evidence.pool
    channels = {
        "vectors": recipe.vectors * evidence.nearness(recipe),
        "words": recipe.words * evidence.wording(recipe),
        "speaker": recipe.speaker * evidence.speaker(recipe),
        "date": recipe.date * evidence.dates(recipe),
        "answer": recipe.answer * evidence.marked(tuple(evidence.asked.wanted)),
        "question": -recipe.question * evidence.marked((evidence.asked.asking,)),
        "entities": recipe.entities * evidence.linked(),
        "recency": recipe.recency * evidence.recency(recipe, now),
        "importance": recipe.importance * pool.importance.astype(float),
        "key": recipe.key * pool.exact.astype(float),
    }
    total = sum(channels.values())
    channels["conversation"] = recipe.conversation * best_of_conversation(pool.conversations, total)  # type: ignore[arg-type]
    return channels


def decayed(evidence: Evidence, recipe: Recipe, now: int) -> dict[str, Numbers]:
    """0.5 x similarity + 0.3 x e^(-time_weight x days) + 0.2 x importance x 0.95^days. E4."""
    import numpy as np

    days = evidence.days(now)
    return {
        "vectors": recipe.vectors * np.maximum(evidence.similarity, 0.0),
        "recency": recipe.recency * np.exp(-recipe.time_weight * days),
        "importance": recipe.importance * evidence.pool.importance * 0.95**days,
    }


class Evidence:
    """A pool, split into the words of a question and the marks it asks for."""

    def __init__(self, pool: Pool, asked: Asked, reached: Mapping[int, float] = NOTHING) -> None:
        import numpy as np

        self.pool = pool
        self.asked = asked
        self.reached = reached
        self.counts = pool.counts[:, : len(asked.terms)].astype(np.float32)
        self.column = {mark: place for place, mark in enumerate(asked.columns)}
        self.embedded = np.isfinite(pool.similarity)
        self.similarity = np.where(self.embedded, pool.similarity, 0.0).astype(np.float64)

    def nearness(self, recipe: Recipe) -> Numbers:
        return stretched(self.similar(recipe), self.embedded)

    def similar(self, recipe: Recipe) -> Numbers:
        """Similarity, with a little of what stands beside it in the conversation."""
        import numpy as np

        total, weight = self.similarity.copy(), np.ones(len(self.similarity))
        reach = self.reach(recipe)
        for distance, share in enumerate(recipe.near_vectors, 1):
            for here, there in beside(self.pool.conversations, distance):
                given = share * reach[there]
                total[here] += given * self.similarity[there]
                weight[here] += given
        mean: Numbers = total / weight
        return mean

    def telling(self, others: int) -> Numbers:
        """How telling each word is here, if there were so many other texts without it."""
        return inverse_frequencies(self.pool.documents + others, self.pool.frequencies[: len(self.asked.terms)])

    def wording(self, recipe: Recipe) -> Numbers:
        """BM25 over a window: a text's own words, and those of its neighbours by their distance."""
        import numpy as np

        lengths = self.pool.lengths.astype(np.float32)
        counts, length = OWN * self.counts, OWN * lengths
        reach = self.reach(recipe)
        for distance, share in enumerate(recipe.near_words, 1):
            for here, there in beside(self.pool.conversations, distance):
                given = OWN * share * reach[there]
                counts[here] += given[:, None] * self.counts[there]
                length[here] += given * lengths[there]
        present = counts > 0
        idf = inverse_frequencies(len(counts), present.sum(axis=0))
        return shared(bm25(counts, length, idf))

    def speaker(self, recipe: Recipe) -> Numbers:
        """Said by whom the question names, the first of them above all: "What did Ann tell Bob?" is about Ann's
        words. Where it names nobody who speaks here, by the side it is about."""
        import numpy as np

        columns = [self.column[mark] for mark in self.asked.named]
        said = self.pool.counts[:, columns] > 0
        speaking = np.flatnonzero(said.any(axis=0))
        if not len(speaking):
            return self.marked(tuple(self.asked.sides))
        shares = np.where(speaking == speaking[0], 1.0, recipe.also_named)
        by: Numbers = (said[:, speaking] * shares).max(axis=1)
        return by

    def dates(self, recipe: Recipe) -> Numbers:
        """Inside a period that the question names; beside it, the less the farther: news is told days later."""
        import numpy as np

        near, at = np.zeros(len(self.pool.handles)), self.pool.valid_from
        for period in self.asked.periods:
            start, end = to_micros(period.start), to_micros(period.end)
            days = np.maximum(np.maximum(start - at, at - end + 1), 0) / DAY
            faded = np.exp2(-days / recipe.slack_days) if recipe.slack_days else days == 0
            near = np.maximum(near, faded * (1.0 if period.exact else VAGUE))
        return near

    def marked(self, marks: tuple[int, ...]) -> Numbers:
        """1 where a candidate has any of these marks."""
        import numpy as np

        if not marks:
            return np.zeros(len(self.pool.handles))
        columns = [self.column[mark] for mark in marks]
        return np.asarray(self.pool.counts[:, columns].max(axis=1) > 0, np.float64)

    def linked(self) -> Numbers:
        """How near links are to what the question names."""
        import numpy as np

        near = np.zeros(len(self.pool.handles))
        if self.reached:
            rows = np.flatnonzero(np.isin(self.pool.handles, list(self.reached)))
            near[rows] = [self.reached[handle] for handle in self.pool.handles[rows].tolist()]
        return near

    def recency(self, recipe: Recipe, now: int) -> Numbers:
        import numpy as np

        faded: Numbers = np.exp2(-self.days(now) / recipe.half_life_days)
        return faded

    def days(self, now: int) -> Numbers:
        import numpy as np

        age: Numbers = np.maximum(now - self.pool.valid_from, 0) / DAY
        return age

    def reach(self, recipe: Recipe) -> NDArray[np.float32]:
        """How far a text speaks for its neighbours: a long one says many things that do not concern them."""
        import numpy as np

        lengths = np.maximum(self.pool.lengths, 1)
        return np.minimum(1.0, recipe.long_turn / lengths).astype(np.float32)


def bounds(period: Period, recipe: Recipe) -> tuple[int, int]:
    """From when to when a period is shown as met: where it counts half or more. In microseconds, half open."""
    slack = timedelta(days=recipe.slack_days)
    try:
        return to_micros(period.start - slack), to_micros(period.end + slack)
    except OverflowError:
        return to_micros(period.start), to_micros(period.end)


def beside(conversations: NDArray[np.int32], distance: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs (here, there) of places of one conversation that are so far apart, in both directions."""
    import numpy as np

    first = np.flatnonzero((conversations[distance:] == conversations[:-distance]) & (conversations[distance:] > 0))
    return [(first, first + distance), (first + distance, first)]


def best_of_conversation(conversations: NDArray[np.int32], scores: Numbers) -> Numbers:
    """The best score of each one's conversation; what stands alone is its own."""
    import numpy as np

    best = np.full(int(conversations.max(initial=0)) + 1, -np.inf)
    np.maximum.at(best, conversations, scores)
    return np.where(conversations > 0, best[conversations], scores)


def inverse_frequencies(documents: int, frequencies: NDArray[np.int64]) -> Numbers:
    """How telling each term is among everything that this reader may see."""
    import numpy as np

    weights: Numbers = np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5))
    return weights


def bm25(counts: NDArray[np.float32], lengths: NDArray[np.float32], idf: Numbers) -> Numbers:
    import numpy as np

    relative = lengths / max(float(lengths.mean()) if len(lengths) else 0.0, 1e-9)
    saturated = counts * (K1 + 1) / (counts + (K1 * (1 - B + B * relative))[:, None])
    scores: Numbers = saturated.astype(np.float64) @ idf
    return scores


def shared(values: Numbers) -> Numbers:
    """Each as a share of the best: for evidence that has a zero of its own."""
    best = float(values.max(initial=0.0))
    return values / best if best > 0 else values


def stretched(values: Numbers, present: NDArray[np.bool_]) -> Numbers:
    """Min-max to 0..1 over the candidates that have this evidence; the others get 0."""
    import numpy as np

    result = np.zeros(len(values))
    if present.any():
        low, high = values[present].min(), values[present].max()
        result[present] = (values[present] - low) / (high - low) if high - low > NOISE else 1.0
    return result
