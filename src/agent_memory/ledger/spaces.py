"""Vectors that come later, and spaces that come and go: which rows and lines that makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from agent_memory.ledger.journal import ADOPT, EMBED, Head, Journal, Line, LineSubject, Signature
from agent_memory.ledger.quantise import restored
from agent_memory.ledger.rows import Lack, VectorRow
from agent_memory.models.errors import Conflict, SpaceMismatch
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Vector
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Embedded

REBUILT = "rebuild"  # the reason of the line that a rebuild leaves


class LateVectors(NamedTuple):
    """What vectors that were made later change. `left`: from which passage on each content lacks them now; None: it
    has all. Of one that lacked all, old vectors may have stood in until now, and go."""

    lines: tuple[Line, ...]
    vectors: tuple[VectorRow, ...]
    left: tuple[tuple[Lack, int | None], ...]


def embedded(
    batch: Sequence[Embedded], lacking: Mapping[int, Lack], head: Head, scopes: Mapping[Scope, int], now: int
) -> LateVectors:
    """Of one tenant: a journal line per scope, so that shelves notice. A content that was forgotten, or that another
    process embedded meanwhile, is passed over."""
    journal = Journal(head, scopes)
    lines: dict[Scope, tuple[int, count[int]]] = {}
    waiting: dict[int, Lack | None] = dict(lacking)
    vectors: list[VectorRow] = []
    left: list[tuple[Lack, int | None]] = []
    for one in batch:
        lack = waiting.get(one.handle)
        if lack is None or (one.vectors and one.vectors[0].part != lack.part):
            continue
        if lack.scope not in lines:
            lines[lack.scope] = journal.append(EMBED, LineSubject(lack.scope), Signature(now)), count()
        line, places = lines[lack.scope]
        vectors += [VectorRow(line, next(places), lack.content, lack.scope, lack.space, made) for made in one.vectors]
        part = None if one.complete else lack.part + len(one.vectors)
        left.append((lack, part))
        waiting[one.handle] = None if part is None else lack._replace(part=part)
    return LateVectors(tuple(journal.lines), tuple(vectors), tuple(left))


def adopting(head: Head, reason: str) -> Line:
    """A line of the store's journal: another space answers from here on, or all words were made again, and whoever
    holds old ones in memory reads them anew."""
    journal = Journal(head)
    journal.append(ADOPT, LineSubject(), Signature(0, reason=reason))
    return journal.lines[0]


class Beginning(NamedTuple):
    """What it takes to begin a space. `new`: every content waits for its vectors; the `first` of a store answers at
    once, and has a line. `again`: all wait again, but for those whose vector a caller brought."""

    new: bool
    first: bool
    again: bool


def beginning(stored: Sequence[Space], space: Space, *, anew: bool) -> Beginning:
    """`stored`: the one that answers first."""
    new = space not in stored
    return Beginning(new, new and not stored, anew and not new and stored[0] == space)


def switches(stored: Sequence[Space], space: Space, lacks: int, *, anew: bool) -> bool:
    """Whether another answers from here on (or the same, made anew): the others go, and there is a line."""
    complete(space, lacks, known=space in stored)
    return anew or stored[0] != space


def complete(space: Space, lacks: int, *, known: bool) -> None:
    """Only a space that lacks nothing may answer."""
    if not known or lacks:
        raise Conflict(f"{lacks} contents have no vector in {space.fingerprint} yet", hint="embed them first")


def each(rows: Iterable[Sequence[Any]]) -> dict[int, tuple[Vector, ...]]:
    """The vectors of each version, from rows in the order of versions and parts."""
    found: dict[int, tuple[Vector, ...]] = {}
    for version, part, start, end, scale, data in rows:
        found[version] = (*found.get(version, ()), Vector.of(part, start, end, restored(scale, bytes(data))))
    return found


def same(given: Space | None, stored: Space | None) -> None:
    """A question must be asked in the space of the answers."""
    if given != stored:
        raise SpaceMismatch(
            f"the embedder makes {given.fingerprint if given else 'no'} vectors, "
            f"the store holds {stored.fingerprint if stored else 'none'}",
            hint="configure the embedder that the store was built with, or run `agent-memory rebuild --vectors`",
        )
