"""Entities: what a question names, and what is related to that.

A question seldom names what answers it. "What does checkout's failover depend on?" names a service; the answer is about
its database, and the two are linked. So the records that a question calls by name are looked up, links are followed
from them, and each record that they lead to is evidence for: the nearer, the more (`HOP` for each link, times the
link's weight). The named record itself gets nothing: who asks about it knows it, and its words find it anyway.

A relation that leads to many says little about each of them (what psychology calls the fan effect): of a record with
more than `fan` links of one type and direction, each counts that much less. So neither a hub that is linked with
everything nor a name that everything has raises all there is. Several named entities add up, so that what is linked
with two of them comes before what is linked with one.

Names are compared word by word, folded, the longest first: "pg-main", "PG main" and "pg_main" are one name, and a
question that says "checkout-api" does not name "checkout" when there is an entity "checkout-api".

Names come from the payloads that the store holds, not from anything derived at write: stores of any age have them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agent_memory.core.recall.adapter import adapting
from agent_memory.core.recall.reading import Reading
from agent_memory.core.write.commit import FOLLOWED_BY
from agent_memory.core.write.words import STOP_WORDS, spelled
from agent_memory.models.kinds.adapter import ADAPTER
from agent_memory.models.kinds.built_in import BUILT_IN
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.recipe import Recipe
from agent_memory.models.record import Record, Status
from agent_memory.ports.index import Calling, LinkStep

HOP = 0.7  # what a link leaves of the evidence
LONGEST_NAME = 8  # words
MOST_WORDS = 200  # of a question that are looked at for names
MOST_SHARING = 20  # a name that more have is nobody's
MOST_LINKS = 500  # of one record, type and direction; a relation with more is not followed
MOST_GOING_ON = 100  # records from which a hop goes on, the best first
ORDER = frozenset({FOLLOWED_BY, *(kind.holder.type for kind in BUILT_IN if kind.holder)})
"""Links between neighbours, and from whoever has a record to it: these are evidence for other channels."""


class Trail(NamedTuple):
    """How a version was reached: over which step from where, and how much that counts; the start has no step."""

    counts: float
    step: LinkStep | None = None


@dataclass(frozen=True)
class Reached:
    """From each named version, the versions that links lead to."""

    trails: Mapping[int, Mapping[int, Trail]] = field(default_factory=dict)

    @property
    def named(self) -> Collection[int]:
        return self.trails.keys()

    @property
    def evidence(self) -> dict[int, float]:
        """handle -> 0 to 1: the independent evidence of all named records together."""
        missing: dict[int, float] = {}
        for trails in self.trails.values():
            for handle, trail in trails.items():
                if trail.step is not None:
                    missing[handle] = missing.get(handle, 1.0) * (1 - trail.counts)
        return {handle: 1 - left for handle, left in missing.items()}


def calling(kinds: Mapping[str, Kind]) -> Calling:
    """How names of records are found and spelled, for the kinds that have them. Nobody can spell an adapter's."""
    named = {name: _naming(kind.called) for name, kind in kinds.items() if kind.called}
    return {**named, ADAPTER: adapting}


def reach(reading: Reading, calls: Calling, text: str, recipe: Recipe) -> Reached:
    """Everything that is related to what a question names, as far as the recipe goes."""
    if not recipe.entities or recipe.formula == "decay":
        return Reached()
    said = phrases(text)
    found = reading.called(said.keys(), calls, most=MOST_SHARING)
    start = named(said, {one.handle: one.names for one in found if one.status == Status.ACTIVE})
    return Reached(spread(reading, start, recipe)) if start else Reached()


def named(said: Mapping[str, Sequence[range]], names: Mapping[int, Collection[str]]) -> dict[int, float]:
    """handle -> how surely the question means it: the longest names first, and a word is part of one name only."""
    sharing: dict[str, set[int]] = {}
    for handle, own in names.items():
        for name in said.keys() & set(own):
            sharing.setdefault(name, set()).add(handle)
    taken: set[int] = set()
    start: dict[int, float] = {}
    for name in sorted(sharing, key=lambda name: (-len(said[name][0]), said[name][0].start)):
        free = [place for place in said[name] if taken.isdisjoint(place)]
        taken.update(*free)
        for handle in sorted(sharing[name]) if free else ():
            start[handle] = max(start.get(handle, 0.0), 1 / len(sharing[name]))
    return start


def spread(reading: Reading, start: Mapping[int, float], recipe: Recipe) -> dict[int, dict[int, Trail]]:
    """From each start, hop by hop, the best trail to everything within the depth."""
    trails = {handle: {handle: Trail(counts)} for handle, counts in start.items()}
    going_on = {handle: {handle} for handle in start}
    for _ in range(recipe.depth):
        best = {
            handle: max(trails[source][handle].counts for source in start if handle in going_on[source])
            for handle in sorted(set().union(*going_on.values()))
        }
        chosen = sorted(best, key=lambda handle: (-best[handle], handle))[:MOST_GOING_ON]
        if not chosen:
            break
        steps = [one for one in reading.steps(chosen, most=MOST_LINKS) if one.type not in ORDER]
        fans = Counter((one.here, one.type, one.outward) for one in steps)
        for source, known in trails.items():
            new: dict[int, Trail] = {}
            for one in steps:
                if one.here in going_on[source] and one.there not in known:
                    share = min(1.0, recipe.fan / fans[one.here, one.type, one.outward])
                    trail = Trail(known[one.here].counts * HOP * one.weight * share, one)
                    if one.there not in new or trail.counts > new[one.there].counts:
                        new[one.there] = trail
            known |= new
            going_on[source] = {one.step.there for one in new.values() if one.step and one.step.status == Status.ACTIVE}
    return trails


def ways(reading: Reading, reached: Reached, handles: Sequence[int]) -> dict[int, list[str]]:
    """handle -> how it is related to each named record: "checkout → DEPENDS_ON → pg-main ← ABOUT"."""
    if not reached.trails:
        return {}
    routes = {
        handle: [(source, _route(trails, handle)) for source, trails in reached.trails.items() if handle in trails]
        for handle in handles
    }
    passed = {step.here for found in routes.values() for _, route in found for step in route}
    names = {record.seq: _name(record) for record in reading.hydrate(sorted({*reached.named, *passed}))}
    return {handle: [_shown(names, source, route) for source, route in found] for handle, found in routes.items()}


def _route(trails: Mapping[int, Trail], handle: int) -> list[LinkStep]:
    route: list[LinkStep] = []
    while (step := trails[handle].step) is not None:
        route.insert(0, step)
        handle = step.here
    return route


def _shown(names: Mapping[int, str], source: int, route: Sequence[LinkStep]) -> str:
    """A route without the name of where it ends: that is the hit."""
    parts = [names.get(source, "?")]
    for step in route:
        arrow = "→" if step.outward else "←"
        parts += [arrow, step.type, arrow, names.get(step.there, "?")]
    return " ".join(parts[:-2] if route else parts)


def _name(record: Record) -> str:
    return str(record.payload.get("name", record.id))


def phrases(text: str) -> dict[str, list[range]]:
    """Every run of words that may be a name, and where it stands."""
    words = spelled(text)[:MOST_WORDS]
    folded = [word.casefold() for word in words]
    found: dict[str, list[range]] = {}
    for start in range(len(words)):
        for end in range(start + 1, min(start + LONGEST_NAME, len(words)) + 1):
            if name := _compared(words[start:end], folded[start:end]):
                found.setdefault(name, []).append(range(start, end))
    return found


def folded_name(words: list[str]) -> str:
    return _compared(words, [word.casefold() for word in words])


def _compared(words: list[str], folded: list[str]) -> str:
    """How a name is compared: folded. One of common words alone ("IT", "Will") counts as it is written, with its
    capitals; in small letters it is none."""
    if not STOP_WORDS.issuperset(folded):
        return " ".join(folded)
    return " ".join(words) if words != folded else ""


def _naming(called: Callable[[dict[str, Any]], tuple[str, ...]]) -> Callable[[dict[str, Any]], list[str]]:
    return lambda payload: [name for own in called(payload) if (name := folded_name(spelled(own)))]
