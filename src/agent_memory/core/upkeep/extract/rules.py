"""All of it in order: one turn in, what it says out. Pure: the same turn gives the same on every machine. C18."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.core.upkeep.extract.claims import claimed
from agent_memory.core.upkeep.extract.names import named
from agent_memory.core.upkeep.extract.sentences import Mood, sentences
from agent_memory.core.upkeep.extract.subjects import Clauses
from agent_memory.core.upkeep.extract.values import Claimed, Dated, Extract, NamedEntity, Said, Wish
from agent_memory.core.upkeep.extract.when import dates
from agent_memory.core.upkeep.extract.wishes import wishes

MOST_SENTENCES = 500  # of one turn


def extract(said: Said, before: Sequence[Claimed] = ()) -> Extract:
    """`before`: what earlier turns of the conversation claimed; "no, it is 5433" goes back to the last of it."""
    so_far = Clauses(said, [one._replace(start=-1, end=-1) for one in before[-1:]], [], [])
    entities: list[NamedEntity] = []
    wanted: list[Wish] = []
    periods: list[Dated] = []
    for sentence in sentences(said.text)[:MOST_SENTENCES]:
        names = named(sentence)
        entities += names
        periods += dates(sentence.text, said.at)
        wanted += wishes(sentence)
        if sentence.mood is Mood.STATEMENT:
            so_far.claims.extend(claimed(sentence, names, so_far))
    found = tuple(one for one in so_far.claims if one.start >= 0)
    return Extract(tuple(entities), found, tuple(wanted), tuple(periods))
