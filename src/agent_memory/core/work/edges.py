"""Edges between goals and between tasks: none closes a circle, and what waits at one end is let go at the other.

Whatever a decision was made from is an expectation of the write, so that two writers cannot close a circle together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, cast

from agent_memory.core.work.ground import Ground, WorkStep
from agent_memory.models.draft import Draft
from agent_memory.models.errors import InvalidInput, NotFound
from agent_memory.models.record import Link, Record
from agent_memory.ports.changes import Author, Disconnect, Expect

MOST_FREED = 1000  # in one write: others wait for it


class Sort(NamedTuple):
    """A sort of edges from a record to others of its kind: the field of its payload that names them, the type of the
    links that tell the same, and which of the others a record names."""

    kind: str
    field: str
    type: str
    of: Callable[[Record], Sequence[str]]


class Waiting(NamedTuple):
    """What has the status `waits` gets the status `free` when all that its edges lead to is `done`. `status` is that of
    a record; `lost`: whether what was forgotten is waited for, and never comes."""

    sort: Sort
    waits: str
    done: str
    free: str
    status: Callable[[Record], str]
    lost: bool

    def open(self, asked: Iterable[str], known: Iterable[Record]) -> set[str]:
        """Of these ids, those of which `known` are all that there are, the ones that are waited for."""
        there = {one.id: self.status(one) for one in known}
        return {id for id in asked if there.get(id, "" if self.lost else self.done) != self.done}


@dataclass(frozen=True, slots=True)
class EdgeChange:
    """The edges of one sort of a record, before and after a change."""

    sort: Sort
    old: Sequence[str]
    new: Sequence[str]

    @property
    def added(self) -> Sequence[str]:
        return [one for one in dict.fromkeys(self.new) if one not in self.old]

    def links(self, source: str) -> tuple[Link, ...]:
        return tuple(Link(source_id=source, target_id=one, type=self.sort.type) for one in self.added)

    def cuts(self, ground: Ground, author: Author, source: str) -> tuple[Disconnect, ...]:
        """Links to what was forgotten meanwhile went with it."""
        left = ground.seen(author, set(self.old) - set(self.new))
        return tuple(Disconnect(source, one.id, self.sort.type) for one in left)


def checked(ground: Ground, author: Author, id: str, edges: EdgeChange, *, unknown: bool) -> list[Expect]:
    """Under which conditions these edges close no circle: what they lead to is still as it was read. `InvalidInput`
    where one is closed, `NotFound` where a new edge leads nowhere. `unknown`: nothing can lead to this id, which was
    made this moment. Then, and where no edge is new, what they lead to is read, and nothing beyond it.

    Only the record's own scope matters: an edge leads to the same scope or to a wider one, never back."""
    sort, added = edges.sort, edges.added
    if id in added:
        raise _circle(sort, [id, id])
    came_from = dict.fromkeys(edges.new, id)
    expect: list[Expect] = []
    ahead = list(came_from)
    while ahead:
        found = {one.id: one for one in ground.seen(author, ahead) if one.kind == sort.kind}
        for target in ahead:
            if target not in found and target in added:
                raise NotFound(f"{sort.field}: no {sort.kind} {target!r}", field=sort.field)
        near = [one for one in found.values() if one.scope == author.scope]
        expect += [Expect(one.version, id=one.id) for one in near]
        if unknown or not added:
            break
        ahead = []
        for one in near:
            for other in sort.of(one):
                if other == id:
                    raise _circle(sort, [*_way(came_from, id, one.id), id])
                if other not in came_from:
                    came_from[other] = one.id
                    ahead.append(other)
    return expect


def freed(ground: Ground, author: Author, id: str, waiting: Waiting, after: str = "") -> WorkStep:
    """What waits for this one alone, now that it is done. Only in the author's scope, and only so many of those whose
    ids come after this one: the answer is the last of them where there are more."""
    sort = waiting.sort
    links = ground.records.links(ground.view(author), [id])
    ids = sorted({one.source_id for one in links if one.type == sort.type and one.target_id == id})
    ids = [one for one in ids if one > after]
    there = [one for one in ground.seen(author, ids[:MOST_FREED]) if one.kind == sort.kind]
    held = [one for one in there if one.scope == author.scope and waiting.status(one) == waiting.waits]
    others = {other for one in held for other in sort.of(one)} - {id}
    known = ground.seen(author, others)
    open = waiting.open(others, known)
    drafts = [
        replace(Draft.of(one), payload={**one.payload, "status": waiting.free})
        for one in held
        if not open & set(sort.of(one))
    ]
    read = [*held, *(one for one in known if one.scope == author.scope)]
    more = ids[MOST_FREED - 1] if len(ids) > MOST_FREED else None
    return WorkStep(author, drafts, [Expect(one.version, id=one.id) for one in read], answer=more)


def free_all(ground: Ground, author: Author, id: str, waiting: Waiting) -> None:
    """After it was noted that this one is done: what could not be freed in the same write, or began to wait in the
    moment before."""
    after: str | None = ""
    while after is not None:
        after = cast("str | None", ground.take(partial(freed, ground, author, id, waiting, after)).answer)


def _way(came_from: dict[str, str], start: str, end: str) -> list[str]:
    way = [end]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return way[::-1]


def _circle(sort: Sort, way: list[str]) -> InvalidInput:
    return InvalidInput(
        f"{sort.field}: this would close a circle: {' → '.join(way)}",
        hint="nothing was written; leave one of them out",
        field=sort.field,
    )
