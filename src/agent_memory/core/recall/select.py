"""Which of the ranked candidates are shown, and in which order.

Nothing below the floor, no more of one conversation than asked. Where the recipe says so, the head of the ranking is
read as well: records that say the same become one hit. The head is as long as the recipe says, whatever `k` is, and
every step goes from the top downwards, so that the first five of ten are the five. Hits stay ordered by score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from agent_memory.core.recall.chosen import Chosen
from agent_memory.core.recall.repeats import Repeats
from agent_memory.core.recall.score import Ranking
from agent_memory.models.recipe import Recipe
from agent_memory.models.record import Record
from agent_memory.ports.index import Pool

LONGEST_WALK = 2000  # candidates that are read to fill an answer, where many say the same

Hydrate = Callable[[Sequence[int]], list[Record]]


def select(pool: Pool, ranking: Ranking, recipe: Recipe, k: int, hydrate: Hydrate) -> list[Chosen]:
    """The hits, best first; `hydrate` reads records by their handles."""
    rows = (row for row in ranking.rows.tolist() if ranking.relevance[row] >= recipe.min_relevance)
    room = Room(pool, recipe)
    if not recipe.collapse:
        shown = islice((row for row in rows if room.takes(row)), k)
        return _records(pool, ranking, list(shown), hydrate)
    pages = _pages(pool, ranking, recipe, rows, hydrate)
    return list(islice((one for page in pages for one in page if room.takes(one.row)), k))


class Room:
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


def _pages(
    pool: Pool, ranking: Ranking, recipe: Recipe, rows: Iterator[int], hydrate: Hydrate
) -> Iterator[list[Chosen]]:
    """The ranking, read a head at a time."""
    repeats = Repeats()
    for _ in range(0, LONGEST_WALK, recipe.head):
        page = list(islice(rows, recipe.head))
        if not page:
            return
        yield repeats.collapse(_records(pool, ranking, page, hydrate))


def _records(pool: Pool, ranking: Ranking, rows: Sequence[int], hydrate: Hydrate) -> list[Chosen]:
    """What was forgotten meanwhile is left out."""
    handles = {int(pool.handles[row]): row for row in rows}
    found = hydrate(list(handles))
    return [Chosen(row := handles[one.seq], one, float(ranking.scores[row])) for one in found]
