"""A summary without a model: which of some texts stand for all of them. It quotes and never invents.

Chosen is what stands near many others (centrality) and apart from what was chosen before (diversity). What is near is
told by content words, as for diversity among hits: the same on every machine, with no model at hand. Pages of a
conversation, what moves into the archive and records that are merged are all summarised so.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.core.recall.diversity import likeness


def ranked(texts: Sequence[str]) -> list[int]:
    """The places of these texts, the one that stands for most of them first. The next is always the one with the
    highest product of its centrality and of how far it is from those before it."""
    import numpy as np

    alike = likeness(texts)
    central = np.round(alike.sum(axis=1), 6)  # its likeness to itself included: what is like no other still counts
    apart, places = np.ones(len(texts)), list[int]()
    while len(places) < len(texts):
        place = int(np.argmax(np.round(central * apart, 6)))  # of equals the first
        places.append(place)
        apart = np.minimum(apart, 1 - alike[place])
        apart[place] = -1.0
    return places


def unlike(texts: Sequence[str], same: float) -> list[int]:
    """The places of these texts without those that are that much like an earlier one: said often is not yet said by
    many."""
    import numpy as np

    alike = np.triu(likeness(texts), 1)
    return [place for place in range(len(texts)) if not (alike[:place, place] >= same).any()]


def summary(texts: Sequence[str], most: int, same: float = 1.0) -> list[str]:
    """At most so many of these texts, word by word, in their own order."""
    kept = unlike(texts, same)
    return [texts[kept[place]] for place in sorted(ranked([texts[one] for one in kept])[:most])]
