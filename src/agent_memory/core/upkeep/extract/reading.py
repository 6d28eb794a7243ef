"""What extractors find beside the rules, and whether a store can keep it. One that fails, or gives what does not fit,
is left out of that turn, and takes nothing else with it. P20."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, get_args

from agent_memory.core.upkeep.extract.telling import told
from agent_memory.core.upkeep.extract.values import (
    Claimed,
    EntityType,
    Extract,
    NamedEntity,
    NamedExtractor,
    Said,
    Wanted,
    Wish,
)
from agent_memory.models.errors import InvalidInput, LeaseLost
from agent_memory.models.kinds.knowledge import EntityPayload, Fact
from agent_memory.models.kinds.person import Preference
from agent_memory.ports.abandon import Abandoned
from agent_memory.ports.spans import log

MOST_FOUND = 500  # of each sort, in one turn
_log = log(__name__)
T = TypeVar("T", NamedEntity, Claimed, Wish)


def read(said: Said, before: Sequence[Claimed], found: Extract, extractors: Sequence[NamedExtractor]) -> Extract:
    """With what others find. What the rules found comes first: of two claims with the same key it is kept."""
    for one in extractors:
        try:
            more = checked(one, said, before)
        except (Abandoned, LeaseLost):
            raise
        except Exception as error:  # noqa: BLE001 - one that fails takes no other with it
            _log.warning("the extractor %s is left out of a turn: %s", one.name, type(error).__name__)
            continue
        found = Extract(found.entities + more.entities, found.claims + more.claims, found.wishes + more.wishes)
    return found


def checked(one: NamedExtractor, said: Said, before: Sequence[Claimed] = ()) -> Extract:
    """What it finds, if a store can keep it; else `InvalidInput`, or what it raises."""
    found = one.extract(said, tuple(before))
    if not isinstance(found, Extract):
        raise _wrong(f"it gives a {type(found).__name__}, and no Extract")
    for entity in _each(found.entities, NamedEntity, said):
        EntityPayload(name=entity.name, type=entity.type)
        if entity.type not in get_args(EntityType):
            raise _wrong(f"there is no type of entity {entity.type!r}")
    for wish in _each(found.wishes, Wish, said):
        Preference(domain="instructions", name=wish.what, value=wish.wanted)
        if wish.wanted not in get_args(Wanted):
            raise _wrong(f"nobody can want {wish.wanted!r}")
    for claim in _each(found.claims, Claimed, said):
        began = claim.since or said.at
        if began.tzinfo is None:
            raise _wrong("`since` has no time zone")
        named = {"subject": claim.subject, "predicate": claim.predicate, "object": claim.object}
        if not all(named.values()):
            raise _wrong("a claim has a subject, a predicate and an object")
        rest = {"negated": claim.negated, "confidence": claim.confidence, "created_at": began}
        Fact(claim=told(claim), source="extraction", **named, **rest)
    return found._replace(claims=tuple(claim._replace(by=one.name) for claim in found.claims))


def _each(found: Sequence[T], shape: type[T], said: Said) -> Sequence[T]:
    """Those of one sort, each with its stretch of the text."""
    if len(found) > MOST_FOUND:
        raise _wrong(f"it finds {len(found)} in one turn: at most {MOST_FOUND} are taken")
    for one in found:
        if not isinstance(one, shape):
            raise _wrong(f"it gives a {type(one).__name__} among what should be {shape.__name__}")
        if not (type(one.start) is type(one.end) is int and 0 <= one.start < one.end <= len(said.text)):
            raise _wrong(f"{one.start}:{one.end} is no stretch of the text")
    return found


def _wrong(why: str) -> InvalidInput:
    return InvalidInput(why, hint="what an extractor gives is told in agent_memory.core.upkeep.extract.values")
