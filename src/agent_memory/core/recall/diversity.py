"""Hits that differ: maximal marginal relevance over the head of a ranking.

From the top downwards, each next hit is the one with the best score after what it shares with the hits before it is
taken off. Likeness is the share of content words that two texts have in common. Candidates for one question are all
near it in meaning and so near each other, which is why their vectors say little about what sets them apart; words
tell "failed on web-01" from "failed on web-02", and need nothing but the texts, which are at hand. All words count
alike: weighted by how few of the head have them, five accounts of one event would seem to have nothing in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from agent_memory.core.recall.chosen import Chosen
from agent_memory.core.write.words import word_hash, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST = 4000  # characters of a text that are compared


def diversified(head: Sequence[Chosen], diversity: float, takes: Callable[[int], bool]) -> Iterator[Chosen]:
    """The head in its new order; rows that are not taken push nobody away.

    What is taken off is `diversity / (1 - diversity)` x the span of the head's scores x the likeness to the nearest
    hit before. That orders as the usual (1 - diversity) x relevance - diversity x likeness does, and never rises.
    """
    import numpy as np

    scores = np.array([one.score for one in head])
    price = diversity / (1 - diversity) * float(np.ptp(scores)) if len(head) else 0.0
    alike = likeness([one.record.text for one in head])
    nearest, left = np.zeros(len(head)), np.ones(len(head), bool)
    for _ in head:
        place = int(np.argmax(np.where(left, scores - price * nearest, -np.inf)))  # of equals the one that ranks first
        left[place] = False
        if takes(head[place].row):
            yield head[place].moved("diversity", float(scores[place] - price * nearest[place]))
            nearest = np.maximum(nearest, alike[place])


def likeness(texts: Sequence[str]) -> NDArray[np.float64]:
    """Cosines between texts as sets of content words: 1 for the same words, 0 for none in common."""
    import numpy as np

    columns: dict[bytes, int] = {}
    found = [
        {columns.setdefault(one, len(columns)) for one in map(word_hash, words(text[:LONGEST])) if one}
        for text in texts
    ]
    has = np.zeros((len(texts), len(columns)))
    for row, places in enumerate(found):
        has[row, list(places)] = 1.0
    lengths = np.linalg.norm(has, axis=1, keepdims=True)
    has /= np.where(lengths > 0, lengths, 1.0)
    cosines: NDArray[np.float64] = np.round(has @ has.T, 6)
    return cosines
