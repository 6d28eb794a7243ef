"""Reranking: somebody who reads question and texts together puts the head of a ranking in order.

Never a reason to fail: what did not fit into the time, and everything where the reranker is out of reach, keeps its
fused order, and the answer says so. The head's scores are dealt out anew, the best to whom the reranker likes best, so
that hits stay ordered by score and the channel `rerank` shows what changed. A replay uses the scores of its receipt.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from agent_memory.core.recall.chosen import Chosen
from agent_memory.models.answer import Reranked
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.recipe import Recipe
from agent_memory.ports.reranker import Reranker
from agent_memory.ports.spans import asked_of_model, span

BATCH = 32  # texts in one call: the most that servers take as they come
NONE = "no reranker is configured (set AGENT_MEMORY_RERANK_URL, or pass reranker=…)"


class Judge:
    """One recall's reranker. `told` is what it said, now or when the same was asked before; `named` are the versions
    that it speaks of."""

    def __init__(self, reranker: Reranker | None, query: str, told: Reranked | None = None) -> None:
        self._reranker = reranker
        self._service: str | None = getattr(reranker, "service", None)
        self._query = query
        self.told = told
        self.named: tuple[int, ...] = ()

    def reorder(self, head: Sequence[Chosen], recipe: Recipe) -> list[Chosen]:
        """The head, with those that were scored in the reranker's order, in the places that they had. Of several
        versions of a record the best is scored."""
        first: dict[str, Chosen] = {}
        for one in head:
            first.setdefault(one.record.id, one)
        best = [*first.values()]
        if self.told is None:
            with span("recall.rerank", candidates=min(len(best), recipe.rerank)):
                self.told = self._asked(best[: recipe.rerank], recipe.rerank_seconds)
        scores = self.told.scores
        scored = [one for one in best if one.record.id in scores]
        rows = {one.row for one in scored}
        self.named = tuple(one.record.seq for one in scored)
        liked = sorted(scored, key=lambda one: -scores[one.record.id])  # of equals the one that ranked first
        dealt = (one.moved("rerank", place.score) for one, place in zip(liked, scored, strict=True))
        return [next(dealt) if one.row in rows else one for one in head]

    def _asked(self, wanted: Sequence[Chosen], seconds: float) -> Reranked:
        if self._reranker is None:
            return Reranked(by="", candidates=len(wanted), trouble=NONE)
        started, trouble, scores = time.perf_counter(), None, list[float]()
        slowest = 0.0
        while len(scores) < len(wanted):
            begun = time.perf_counter()
            left = seconds - (begun - started)
            if left < slowest or left <= 0:
                break  # the next would not fit
            texts = [one.record.text for one in wanted[len(scores) : len(scores) + BATCH]]
            try:
                with asked_of_model("rerank", self._reranker.name, self._service, texts=len(texts)):
                    scores += _checked(self._reranker.score(self._query, texts, left), len(texts))
            except (AgentMemoryError, OSError, Unusable) as error:
                trouble = str(error)
                break
            slowest = max(slowest, time.perf_counter() - begun)
        return Reranked(
            by=self._reranker.name,
            candidates=len(wanted),
            scores={one.record.id: score for one, score in zip(wanted, scores, strict=False)},
            milliseconds=round((time.perf_counter() - started) * 1000, 3),
            trouble=trouble,
        )


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
