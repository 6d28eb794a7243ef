"""Which of the ranked candidates are shown, and in which order.

Nothing below the floor, no more of one conversation than asked. Where the recipe says so, the head of the ranking is
read as well: records that say the same become one hit, a reranker puts them in order, and hits that differ come
before those that are alike. The head is as long as the recipe says, whatever `k` is, and every step goes from the top
downwards, so that the first five of ten are the five. Hits stay ordered by score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice

from agent_memory.core.recall.chosen import Chosen
from agent_memory.core.recall.diversity import diversified
from agent_memory.core.recall.repeats import Repeats
from agent_memory.core.recall.rerank import Judge
from agent_memory.core.recall.score import Ranking
from agent_memory.models.recipe import Recipe
from agent_memory.models.record import Record
from agent_memory.ports.index import Pool

LONGEST_WALK = 2000  # candidates that are read to fill an answer, where many say the same

Hydrate = Callable[[Sequence[int]], list[Record]]


def select(pool: Pool, ranking: Ranking, recipe: Recipe, k: int, hydrate: Hydrate, judge: Judge) -> list[Chosen]:
    """The hits, best first; `hydrate` reads records by their handles."""
    rows = ranking.best(floor(recipe, judge))
    room = ConversationRoom(pool, recipe)
    if not recipe.reads_head:
        best, found = (row for row in rows if room.takes(row)), list[Chosen]()
        while len(found) < k and (page := list(islice(best, k - len(found)))):
            found += _records(pool, ranking, page, hydrate)
        return found
    size = recipe.head
    head = list(islice(rows, size))
    lowest = recipe.min_relevance
    rest = (row for row in rows if ranking.relevance[row] >= lowest) if lowest else rows  # nobody judges these
    pages = chain([head], (list(islice(rest, size)) for _ in range(size, LONGEST_WALK, size)))
    read = (_records(pool, ranking, page, hydrate) for page in pages if page)
    return list(islice(_arranged(read, recipe, room, judge), k))


def floor(recipe: Recipe, judge: Judge) -> float:
    """What has to fit this well to be read at all: where a judge reads it, that is told afterwards."""
    return 0.0 if recipe.rerank and judge.judges else recipe.min_relevance


def row_before(pool: Pool, row: int) -> int | None:
    """Of what stands before it in its conversation."""
    conversation = pool.conversations[row]
    return row - 1 if row and conversation > 0 and pool.conversations[row - 1] == conversation else None


class ConversationRoom:
    """No more of one conversation than the recipe allows."""

    def __init__(self, pool: Pool, recipe: Recipe) -> None:
        self._conversations = pool.conversations
        self._most = recipe.per_conversation
        self._taken: dict[int, int] = {}

    def takes(self, row: int) -> bool:
        conversation = int(self._conversations[row])
        if not self._most or not conversation:
            return True
        self._taken[conversation] = self._taken.get(conversation, 0) + 1
        return self._taken[conversation] <= self._most


def _arranged(pages: Iterator[list[Chosen]], recipe: Recipe, room: ConversationRoom, judge: Judge) -> Iterator[Chosen]:
    """The first page is the head. What ranks below it keeps its order, and no score above those of the head."""
    repeats, lowest = Repeats(), math.inf
    for number, page in enumerate(pages):
        if recipe.collapse:
            page = repeats.collapse(page)
        if number == 0 and recipe.rerank:
            page = judge.reorder(page, recipe)
        page = [one for one in page if one.relevance >= recipe.min_relevance]
        if number == 0 and recipe.diversity:
            found = diversified(page, recipe.diversity, room.takes)
        else:
            found = (one for one in page if room.takes(one.row))
        for one in found:
            shown = one if one.score <= lowest else one.moved("diversity", lowest)
            lowest = shown.score
            yield shown


def _records(pool: Pool, ranking: Ranking, rows: Sequence[int], hydrate: Hydrate) -> list[Chosen]:
    """What was forgotten meanwhile, or cannot be read, is left out."""
    fitting = dict(zip(rows, ranking.relevance_of(rows), strict=True))
    handles = {int(pool.handles[row]): row for row in rows}
    found = hydrate(list(handles))
    return [Chosen(row := handles[one.seq], one, float(ranking.scores[row]), fitting[row]) for one in found]
