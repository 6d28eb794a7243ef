"""Reranking: somebody who reads question and texts together puts the head of a ranking in order.

Never a reason to fail: what did not fit into the time, and everything where the reranker is out of reach, keeps its
fused order, and the answer says so. Odds that a text answers are added to its score, both in standard deviations of the
head, and count in its relevance; scores of which only the order is known replace the fused ones. The head's scores are
dealt out anew, the best to whom came first, so that hits stay ordered by score and the channel `rerank` shows what
changed. A replay uses the scores of its receipt.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, pstdev

from agent_memory.core.recall.chosen import Chosen
from agent_memory.models.answer import Reranked
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.recipe import Recipe
from agent_memory.models.record import Record
from agent_memory.ports.reranker import Judging, Reranker, TextInPlace
from agent_memory.ports.spans import asked_of_model, span

BATCH = 32  # texts in one call: the most that servers take as they come
NONE = "no reranker is configured (set AGENT_MEMORY_RERANK_URL, or pass reranker=…)"
KEPT, ODDS, OFFSET = 0.85, 0.26, 0.73  # how much a relevance and odds count together: `scripts/train/odds.py`
MONTHS = "January February March April May June July August September October November December".split()
FAR = 50.0  # odds, as a log, beyond which nothing changes
SMALLEST = 1e-4  # of a relevance and of what is missing to 1

Before = Callable[[int], Record | None]


class Judge:
    """One recall's reranker. `told` is what it said, now or when the same was asked before; `named` are the versions
    that it speaks of, or has read. `before` gives the turn before that of a row."""

    def __init__(
        self, reranker: Reranker | None, query: str, told: Reranked | None = None, before: Before = lambda _: None
    ) -> None:
        self._reranker = reranker
        self._service: str | None = getattr(reranker, "service", None)
        self._query = query
        self._before = before
        self.told = told
        self.named: tuple[int, ...] = ()

    @property
    def judges(self) -> bool:
        """Whether it tells odds."""
        return isinstance(self._reranker, Judging) if self.told is None else self.told.odds

    def reorder(self, head: Sequence[Chosen], recipe: Recipe) -> list[Chosen]:
        """The head, with those that were scored in the reranker's order, in the places that they had. Of several
        versions of a record the best is scored."""
        first: dict[str, Chosen] = {}
        for one in head:
            first.setdefault(one.record.id, one)
        best = [*first.values()][: recipe.rerank]
        if self.told is None:
            with span("recall.rerank", candidates=len(best)):
                self.told = self._asked(best, recipe.rerank_seconds)
        scores = self.told.scores
        scored = [one for one in best if one.record.id in scores]
        rows = {one.row for one in scored}
        self.named += tuple(one.record.seq for one in scored)
        liked = _ordered(scored, scores, recipe.rerank_weight if self.told.odds else None)
        if self.told.odds:
            liked = [replace(one, relevance=_fitting(one.relevance, scores[one.record.id])) for one in liked]
        dealt = (one.moved("rerank", place.score) for one, place in zip(liked, scored, strict=True))
        return [next(dealt) if one.row in rows else one for one in head]

    def _asked(self, wanted: Sequence[Chosen], seconds: float) -> Reranked:
        if self._reranker is None:
            return Reranked(by="", candidates=len(wanted), trouble=NONE)
        trouble, scores, started = None, list[float](), time.perf_counter()
        try:
            with asked_of_model("rerank", self._reranker.name, self._service, texts=len(wanted)):
                ask, at_once = self._way(self._reranker)
                started = time.perf_counter()
                slowest = 0.0
                while len(scores) < len(wanted):
                    begun = time.perf_counter()
                    left = seconds - (begun - started)
                    if left < slowest or left <= 0:
                        break  # the next would not fit
                    texts = wanted[len(scores) : len(scores) + at_once]
                    scores += _checked(ask(texts, left), len(texts))
                    slowest = max(slowest, time.perf_counter() - begun)
        except (AgentMemoryError, OSError, Unusable) as error:
            trouble = str(error)
        return Reranked(
            by=self._reranker.name,
            candidates=len(wanted),
            scores={one.record.id: score for one, score in zip(wanted, scores, strict=False)},
            odds=self.judges,
            milliseconds=round((time.perf_counter() - started) * 1000, 3),
            trouble=trouble,
        )

    def _way(self, reranker: Reranker) -> tuple[Callable[[Sequence[Chosen], float], Sequence[float]], int]:
        """How it is asked, and for how many texts at a time."""
        if not isinstance(reranker, Judging):
            return lambda several, left: reranker.score(self._query, [one.record.text for one in several], left), BATCH
        judge = reranker.judge
        reranker.load()
        return lambda several, left: judge(self._query, [self._with_surroundings(one) for one in several], left), max(
            1, reranker.at_once
        )

    def _with_surroundings(self, one: Chosen) -> TextInPlace:
        before = self._before(one.row)
        if before is not None and not _is_before(before, one.record):
            before = None
        if before is not None:
            self.named += (before.seq,)
        return TextInPlace(one.record.text, lead(one.record), before.text if before else "")


def _is_before(one: Record, other: Record) -> bool:
    """Whether it is the turn right before the other: what stands before it in a pool need not be."""
    place = one.payload.get("index")
    return one.kind == other.kind == "turn" and place is not None and other.payload.get("index") == place + 1


def lead(record: Record) -> str:
    """Who said it, and when."""
    who = record.payload.get("speaker") or record.payload.get("role") or "" if record.kind == "turn" else ""
    when = record.valid_from
    return f"{who}, {when.day} {MONTHS[when.month - 1]} {when.year}".removeprefix(", ")


def _ordered(scored: Sequence[Chosen], scores: Mapping[str, float], weight: float | None) -> list[Chosen]:
    """Best first; of equals the one that ranked first. Without a weight, the reranker's scores alone count."""
    told = [scores[one.record.id] for one in scored]
    if weight is not None:
        fused = _in_deviations([one.score for one in scored])
        told = [score + weight * odds for score, odds in zip(fused, _in_deviations(told), strict=True)]
    return [scored[place] for place in sorted(range(len(scored)), key=lambda place: -told[place])]


def _in_deviations(values: Sequence[float]) -> list[float]:
    """Each in standard deviations from the mean of all."""
    if len(values) < 2 or not (deviation := pstdev(values)):
        return [0.0] * len(values)
    mean = fmean(values)
    return [(value - mean) / deviation for value in values]


def _fitting(relevance: float, odds: float) -> float:
    """A relevance that was told by words and nearness, with what a judge says of the text."""
    before = min(max(relevance, SMALLEST), 1 - SMALLEST)
    total = KEPT * math.log(before / (1 - before)) + ODDS * odds + OFFSET
    return relevance if relevance == 1 else 1 / (1 + math.exp(-min(max(total, -FAR), FAR)))


class Unusable(Exception):
    """What a reranker gave is not one finite score per text."""


def _checked(found: Sequence[float], count: int) -> list[float]:
    try:
        scores = [float(score) for score in found]
    except (TypeError, ValueError):
        raise Unusable("the reranker gave something other than numbers") from None
    if len(scores) != count or not all(map(math.isfinite, scores)):
        raise Unusable(f"the reranker gave {len(scores)} scores for {count} texts, or one that is not a number")
    return scores
