"""From evidence to a ranking: BM25 over windows, normalisation, fusion. Pure arithmetic, the same on
every engine. Each channel is a function from the evidence to one number per candidate.

There may be a hundred thousand candidates, of which ten are shown. So windows are shifted columns, one word at a time;
only the head is put in order; and how well a candidate fits is told for those that somebody asks about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from agent_memory.core.recall.dates import Period
from agent_memory.core.recall.frequency import having
from agent_memory.core.recall.live import recent
from agent_memory.core.recall.past import preferred, shares
from agent_memory.core.recall.question import AskedQuestion
from agent_memory.core.recall.relevance import relevance, usual
from agent_memory.models.moment import to_micros
from agent_memory.models.recipe import Recipe
from agent_memory.ports.index import Pool
from agent_memory.ports.spans import span, tracing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

CHANNEL = "recall.channel."
K1, B = 1.2, 0.75
OWN = 2.0  # how much a text's own words count; a neighbour's count `near_words` times that
OWN_IN_PROSE = 1.0  # a turn says a word once; a document that answers prose is about what it says again
VAGUE = 0.5  # what a vague period ("recently") counts of an exact one
DAY = 86_400_000_000
NOTHING: Mapping[int, float] = MappingProxyType({})
HEAD = 1000  # rows that are put in order before anybody asks for more
NOISE = 1e-6  # below it, similarities differ by arithmetic, not by meaning


@dataclass(frozen=True)
class Ranking:
    """What each channel added to each row of a pool, and their order: best first, ties to the newer record."""

    evidence: PoolEvidence
    channels: dict[str, Numbers]
    scores: Numbers

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """All rows in order."""
        import numpy as np

        return self._ordered(np.arange(len(self.scores)))

    @cached_property
    def relevance(self) -> Numbers:
        """Of all rows."""
        return relevance(self.evidence)

    def best(self, floor: float = 0.0) -> Iterator[int]:
        """Rows in order that fit this well: the head at first, the others if one goes on."""
        import numpy as np

        rows = np.flatnonzero(self.relevance >= floor) if floor > 0 else np.arange(len(self.scores))
        if len(rows) > HEAD:
            scores = self.scores[rows]
            least = np.partition(scores, -HEAD)[-HEAD]
            yield from self._ordered(rows[scores >= least]).tolist()
            rows = rows[scores < least]
        yield from self._ordered(rows).tolist()

    def relevance_of(self, rows: Sequence[int]) -> list[float]:
        """How well these fit."""
        if "relevance" in self.__dict__:
            return [float(self.relevance[row]) for row in rows]
        near, places = self.evidence.around(rows)
        found: list[float] = relevance(near)[places].tolist()
        return found

    def _ordered(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        import numpy as np

        return rows[np.lexsort((-self.evidence.pool.handles[rows], -self.scores[rows]))]


def rank(
    pool: Pool,
    asked: AskedQuestion,
    recipe: Recipe,
    now: int,
    reached: Mapping[int, float] = NOTHING,
    near: Set[int] = frozenset(),
) -> Ranking:
    """Score every candidate. `reached` is what links lead to, `near` what belongs to the caller's repository, by
    handle."""
    recipe = recipe.for_prose() if asked.read_as == "prose" else recipe
    evidence = PoolEvidence(pool, asked, recipe, reached, near)
    evidence.held = shares(pool, asked.past, now)
    channels = decayed(evidence, now) if recipe.formula == "decay" else fused(evidence, now)
    return Ranking(evidence, channels, summed(channels))


def fused(evidence: PoolEvidence, now: int) -> dict[str, Numbers]:
    """Every channel at its weight; the conversation's share comes from what the others add up to."""
    pool, recipe = evidence.pool, evidence.recipe
    channels = measured(
        vectors=lambda: recipe.vectors * evidence.nearness(),
        words=lambda: (recipe.words + recipe.vectors * alone(evidence)) * evidence.wording(),
        speaker=lambda: recipe.speaker * evidence.speaker(),
        date=lambda: recipe.date * evidence.dates,
        answer=lambda: recipe.answer * evidence.marked(tuple(evidence.asked.wanted)),
        question=lambda: -recipe.question * evidence.marked(evidence.asked.asking),
        entities=lambda: recipe.entities * evidence.linked(),
        recency=lambda: recipe.recency * evidence.recency(now),
        importance=lambda: recipe.importance * pool.importance.astype(float),
        key=lambda: recipe.key * pool.exact.astype(float),
    )
    channels |= measured(
        conversation=lambda: recipe.conversation * best_of_conversation(pool.conversations, summed(channels))
    )
    if evidence.near:
        channels |= measured(repository=lambda: recipe.repository * evidence.here())
    if (held := evidence.held) is not None:
        channels |= measured(past=lambda: preferred(pool, held, summed(channels)))
    return channels


def alone(evidence: PoolEvidence) -> NDArray[np.bool_] | bool:
    """Where others have vectors, the words of what has none yet count for both: it may have come a moment ago."""
    return ~evidence.embedded if evidence.recipe.words and evidence.embedded.any() else False


def decayed(evidence: PoolEvidence, now: int) -> dict[str, Numbers]:
    """0.5 x similarity + 0.3 x e^(-time_weight x days) + 0.2 x importance x 0.95^days. E4."""
    import numpy as np

    recipe, days = evidence.recipe, evidence.days(now)
    return measured(
        vectors=lambda: recipe.vectors * np.maximum(evidence.similarity, 0.0),
        recency=lambda: recipe.recency * recent(evidence.pool, np.exp(-recipe.time_weight * days)),
        importance=lambda: recipe.importance * evidence.pool.importance * 0.95**days,
    )


def measured(**channels: Callable[[], Numbers]) -> dict[str, Numbers]:
    """What each channel adds, one after the other."""
    if not tracing():
        return {name: channel() for name, channel in channels.items()}
    added: dict[str, Numbers] = {}
    for name, channel in channels.items():
        with span(CHANNEL + name):
            added[name] = channel()
    return added


class PoolEvidence:
    """A pool, split into the words of a question and the marks it asks for, as a recipe reads it."""

    def __init__(
        self,
        pool: Pool,
        asked: AskedQuestion,
        recipe: Recipe,
        reached: Mapping[int, float] = NOTHING,
        near: Set[int] = frozenset(),
    ) -> None:
        import numpy as np

        self.pool = pool
        self.asked = asked
        self.recipe = recipe
        self.reached = reached
        self.near = near
        self.column = {mark: place for place, mark in enumerate(asked.columns)}
        self.embedded = np.isfinite(pool.similarity)
        self.similarity = np.where(self.embedded, pool.similarity, 0.0).astype(np.float64)
        self.held: Numbers | None = None  # what `past.shares` says

    def around(self, rows: Sequence[int]) -> tuple[PoolEvidence, NDArray[np.int64]]:
        """The evidence of these rows and of all that stands in their windows, and where they are in it. What is usual
        here stays what it is."""
        import numpy as np

        chosen = np.asarray(rows, np.int64)
        reach = max(len(self.recipe.near_vectors), len(self.recipe.near_words))
        near = np.unique(chosen[:, None] + np.arange(-reach, reach + 1))
        near = near[(near >= 0) & (near < len(self.similarity))]
        names = ("handles", "valid_from", "importance", "conversations", "similarity", "counts", "lengths", "exact")
        part = self.pool._replace(**{name: getattr(self.pool, name)[near] for name in names})
        narrow = PoolEvidence(part, self.asked, self.recipe, self.reached)
        narrow.usual = self.usual
        narrow.held = None if self.held is None else self.held[near]
        return narrow, np.searchsorted(near, chosen)

    def nearness(self) -> Numbers:
        return stretched(self.similar, self.embedded)

    @cached_property
    def similar(self) -> Numbers:
        """Similarity, with a little of what stands beside it in the conversation."""
        import numpy as np

        total, weight = self.similarity.copy(), np.ones(len(self.similarity))
        for here, there, given in self.windows(self.recipe.near_vectors):
            total[here] += given * self.similarity[there]
            weight[here] += given
        total /= weight
        return total

    @cached_property
    def usual(self) -> tuple[float, float]:
        """Mean and deviation of the similarities."""
        return usual(self.similar[self.embedded])

    def telling(self, others: int) -> Numbers:
        """How telling each word is here, if there were so many other texts without it."""
        return inverse_frequencies(self.pool.documents + others, self.pool.frequencies[: len(self.asked.terms)])

    def wording(self) -> Numbers:
        """BM25 over a window: a text's own words, and those of its neighbours by their distance."""
        import numpy as np

        weight = OWN_IN_PROSE if self.asked.read_as == "prose" else OWN
        windows = [(here, there, weight * given) for here, there, given in self.windows(self.recipe.near_words)]

        def windowed(values: NDArray[np.float32]) -> NDArray[np.float32]:
            total = weight * values
            for here, there, given in windows:
                total[here] += given * values[there]
            return total

        norm = length_norm(windowed(self.pool.lengths.astype(np.float32)))
        scores = np.zeros(len(norm))
        when = self.asked.dated if self.held is not None else ()
        for term, word in enumerate(self.asked.terms.values()):
            own = self.pool.counts[:, term]
            if own.any() and word not in when:  # what held then seldom says when
                counts = windowed(own.astype(np.float32))
                idf = float(inverse_frequencies(*having(self.pool, term, own, counts)))
                scores += saturated(counts, norm).astype(np.float64) * idf
        return shared(scores)

    def speaker(self) -> Numbers:
        """Said by whom the question names, the first of them above all: "What did Ann tell Bob?" is about Ann's
        words. Where it names nobody who speaks here, by the side it is about."""
        import numpy as np

        columns = [self.column[mark] for mark in self.asked.named]
        speaking = [column for column in columns if self.pool.counts[:, column].any()]
        if not speaking:
            return self.marked(tuple(self.asked.sides))
        by = np.zeros(len(self.similarity))
        for column in speaking:
            share = 1.0 if column == speaking[0] else self.recipe.also_named
            by = np.maximum(by, share * (self.pool.counts[:, column] > 0))
        return by

    @cached_property
    def dates(self) -> Numbers:
        """Inside a period that the question names; beside it, the less the farther: news is told days later. What is
        known to have held in it is of it, whenever that began."""
        import numpy as np

        near, at, slack = np.zeros(len(self.pool.handles)), self.pool.valid_from, self.recipe.slack_days
        for period in self.asked.periods:
            start, end = to_micros(period.start), to_micros(period.end)
            days = np.maximum(np.maximum(start - at, at - end + 1), 0) / DAY
            faded = np.exp2(-days / slack) if slack else days == 0
            near = np.maximum(near, faded * (1.0 if period.exact else VAGUE))
        return near if self.held is None or not self.asked.periods else np.maximum(near, self.held)

    def marked(self, marks: tuple[int, ...]) -> Numbers:
        """1 where a candidate has any of these marks."""
        import numpy as np

        having = np.zeros(len(self.pool.handles), np.bool_)
        for mark in marks:
            having |= self.pool.counts[:, self.column[mark]] > 0
        return having.astype(np.float64)

    def linked(self) -> Numbers:
        """How near links are to what the question names."""
        import numpy as np

        near = np.zeros(len(self.pool.handles))
        if self.reached:
            rows = np.flatnonzero(np.isin(self.pool.handles, list(self.reached)))
            near[rows] = [self.reached[handle] for handle in self.pool.handles[rows].tolist()]
        return near

    def here(self) -> Numbers:
        """1 for what belongs to the caller's repository."""
        import numpy as np

        return np.isin(self.pool.handles, list(self.near)).astype(np.float64)

    def recency(self, now: int) -> Numbers:
        import numpy as np

        return recent(self.pool, np.exp2(-self.days(now) / self.recipe.half_life_days))

    def days(self, now: int) -> Numbers:
        import numpy as np

        age: Numbers = np.maximum(now - self.pool.valid_from, 0) / DAY
        return age

    def windows(self, shares: Sequence[float]) -> Iterator[tuple[slice, slice, NDArray[np.float32]]]:
        """For each distance and direction: who gets, from whom, and how much of it; nothing across conversations."""
        for distance, share in enumerate(shares, 1):
            together = beside(self.pool.conversations, distance)
            if together.any():
                left, right = slice(None, -distance), slice(distance, None)
                yield left, right, share * self.reach[right] * together
                yield right, left, share * self.reach[left] * together

    @cached_property
    def reach(self) -> NDArray[np.float32]:
        """How far a text speaks for its neighbours: a long one says many things that do not concern them."""
        import numpy as np

        lengths = np.maximum(self.pool.lengths, 1)
        return np.minimum(1.0, self.recipe.long_turn / lengths).astype(np.float32)


def bounds(period: Period, recipe: Recipe) -> tuple[int, int]:
    """From when to when a period is shown as met: where it counts half or more. In microseconds, half open."""
    slack = timedelta(days=recipe.slack_days)
    try:
        return to_micros(period.start - slack), to_micros(period.end + slack)
    except OverflowError:
        return to_micros(period.start), to_micros(period.end)


def beside(conversations: NDArray[np.int32], distance: int) -> NDArray[np.bool_]:
    """Whether each one and the one so far behind it are of one conversation."""
    behind = conversations[distance:]
    together: NDArray[np.bool_] = (behind == conversations[:-distance]) & (behind > 0)
    return together


def best_of_conversation(conversations: NDArray[np.int32], scores: Numbers) -> Numbers:
    """The best score of each one's conversation, which stands together; what stands alone is its own."""
    import numpy as np

    first = np.ones(len(scores), np.bool_)
    first[1:] = ~beside(conversations, 1)
    if first.all():
        return scores
    starts = np.flatnonzero(first)
    return np.repeat(np.maximum.reduceat(scores, starts), np.diff(starts, append=len(scores)))


def inverse_frequencies(documents: int, frequencies: NDArray[np.int64] | int) -> Numbers:
    """How telling each term is among everything that this reader may see."""
    import numpy as np

    return np.log1p((documents - frequencies + 0.5) / (frequencies + 0.5))


def length_norm(lengths: NDArray[np.float32]) -> NDArray[np.float32]:
    """BM25: what a long text's counts are lowered by."""
    relative = lengths / max(float(lengths.mean()) if len(lengths) else 0.0, 1e-9)
    return K1 * (1 - B + B * relative)


def saturated(counts: NDArray[np.float32], norm: NDArray[np.float32]) -> NDArray[np.float32]:
    """BM25: a word that occurs twice does not count twice."""
    return counts * (K1 + 1) / (counts + norm)


def summed(channels: Mapping[str, Numbers]) -> Numbers:
    first, *others = channels.values()
    total = first.copy()
    for values in others:
        total += values
    return total


def shared(values: Numbers) -> Numbers:
    """Each as a share of the best: for evidence that has a zero of its own."""
    best = float(values.max(initial=0.0))
    return values / best if best > 0 else values


def stretched(values: Numbers, present: NDArray[np.bool_]) -> Numbers:
    """Min-max to 0..1 over the candidates that have this evidence; the others get 0."""
    import numpy as np

    known = values if present.all() else values[present]
    if not len(known):
        return np.zeros(len(values))
    low, high = known.min(), known.max()
    if high - low <= NOISE:
        return present.astype(np.float64)
    return np.where(present, (values - low) / (high - low), 0.0)
