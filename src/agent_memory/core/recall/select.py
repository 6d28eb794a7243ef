"""Which of the ranked candidates are shown: no more of one conversation than asked, nothing below the floor."""

from __future__ import annotations

from agent_memory.core.recall.score import Ranking
from agent_memory.models.recipe import Recipe
from agent_memory.ports.index import Pool


def select(pool: Pool, ranking: Ranking, recipe: Recipe, k: int) -> list[int]:
    """Rows, best first. Greedy from the top, so that the first five of ten are the five."""
    chosen: list[int] = []
    seen: dict[int, int] = {}
    for row in ranking.rows.tolist():
        if len(chosen) == k:
            break
        if ranking.relevance[row] < recipe.min_relevance:
            continue
        conversation = int(pool.conversations[row])
        if recipe.per_conversation and conversation:
            seen[conversation] = seen.get(conversation, 0) + 1
            if seen[conversation] > recipe.per_conversation:
                continue
        chosen.append(row)
    return chosen
