"""Embedding spaces: which one answers, what it still lacks, and building another beside it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import count

from agent_memory.engines.sqlite.cells import decoded
from agent_memory.engines.sqlite.interning import Naming
from agent_memory.engines.sqlite.journal import ADOPT, EMBED, OPERATIONS, OURSELVES, Ledger
from agent_memory.engines.sqlite.seals import checksum, sealed
from agent_memory.engines.sqlite.statements import SQL, VECTORS_PER_LINE, cell, listed
from agent_memory.models.errors import Conflict, SpaceMismatch
from agent_memory.ports.changes import Vector
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Embedded, Sampled, Unembedded


def active(connection: sqlite3.Connection) -> tuple[int, Space | None]:
    for number, model, version, dimension, is_active in connection.execute(SQL["spaces"]):
        if is_active:
            return number, Space(model, version, dimension)
    return 0, None


def mismatch(given: Space | None, stored: Space | None) -> SpaceMismatch:
    return SpaceMismatch(
        f"the embedder makes {given.fingerprint if given else 'no'} vectors, "
        f"the store holds {stored.fingerprint if stored else 'none'}",
        hint="configure the embedder that the store was built with, or run `agent-memory rebuild --vectors`",
    )


def adopted(connection: sqlite3.Connection, after: int) -> bool:
    space = active(connection)[1]
    line = (after, OPERATIONS[ADOPT], space.fingerprint if space else None)
    return bool(cell(connection, SQL["adopted"], line))


def begin(connection: sqlite3.Connection, names: Naming, space: Space, anew: bool) -> None:
    if known := _number(connection, space):
        if anew and known == active(connection)[0]:
            connection.execute(SQL["unpend"], (known,))
            connection.execute(SQL["pend_again"], (known, json.dumps(_brought(connection, known))))
        return
    first = active(connection)[1] is None
    number = cell(connection, SQL["next_space"])
    _keep(connection, number, space, active=first)
    connection.execute(SQL["pend_everything"], {"space": number})
    if first:
        _tell(connection, names, space)


def _brought(connection: sqlite3.Connection, number: int) -> list[int]:
    """Contents whose vector a caller brought, if it is as it came: nobody else could make it again."""
    rows = connection.execute(SQL["brought"], (number,))
    return [
        content
        for vector, space, scope, content, *rest, seal in rows
        if seal == checksum(vector, space, scope, content, *rest)
    ]


def switch(connection: sqlite3.Connection, names: Naming, space: Space, anew: bool) -> None:
    number = _number(connection, space)
    left = pending(connection, space, None)
    if not number or left:
        raise Conflict(f"{left} contents have no vector in {space.fingerprint} yet", hint="embed them first")
    if active(connection)[0] == number and not anew:
        return
    _keep(connection, number, space, active=True)
    for sql in ("delete_other_vectors", "delete_other_pending", "delete_other_spaces"):
        connection.execute(SQL[sql], (number,))
    _tell(connection, names, space)


def _keep(connection: sqlite3.Connection, number: int, space: Space, *, active: bool) -> None:
    row = sealed(number, space.model, space.version, space.dimension, int(active))
    connection.execute(SQL["put_space"], row)


def pending(connection: sqlite3.Connection, space: Space, scopes: Iterable[int] | None) -> int:
    sql = SQL["count_pending"].format(whose=_inside(scopes))
    left: int = cell(connection, sql, (_number(connection, space),))
    return left


def unembedded(
    connection: sqlite3.Connection, space: Space, scopes: Iterable[int] | None, limit: int
) -> list[Unembedded]:
    sql = SQL["unembedded"].format(whose=_inside(scopes))
    rows = connection.execute(sql, (_number(connection, space), limit))
    return [Unembedded(handle, decoded(text), part) for handle, text, part in rows]


def sample(connection: sqlite3.Connection, space: Space, count: int) -> list[Sampled]:
    """By chance, so that many a `verify` sees many. Rows of 0.1, without a seal, do not tell who made them."""
    rows = connection.execute(SQL["sample"], (_number(connection, space), count)).fetchall()
    return [
        Sampled(content, decoded(text)[start:end], Vector(part, start, end, scale, data))
        for content, text, part, start, end, scale, data in rows
    ]


def embedded(connection: sqlite3.Connection, ledger: Ledger, space: Space, batch: Sequence[Embedded]) -> None:
    """One journal line per scope, so that shelves notice. A content that was forgotten, or that another process
    embedded meanwhile, is passed over."""
    number = _number(connection, space)
    lines: dict[int, Iterator[int]] = {}
    for one in batch:
        key = (one.handle, number)
        scope, part = connection.execute(SQL["pending"], key).fetchone() or (None, 0)
        if scope is None or (one.vectors and one.vectors[0].part != part):
            continue
        if not part:  # made anew: the old ones stood in until now
            connection.execute(SQL["delete_vectors"], (scope, number, one.handle))
        if scope not in lines:
            lines[scope] = count(ledger.append(EMBED, scope, None, None, b"") * VECTORS_PER_LINE)
        connection.executemany(
            SQL["insert_vector"],
            [
                sealed(next(lines[scope]), number, scope, one.handle, v.part, v.start, v.end, v.scale, v.data)
                for v in one.vectors
            ],
        )
        if one.complete:
            connection.execute(SQL["delete_pending"], key)
        else:
            connection.execute(SQL["go_on_pending"], (part + len(one.vectors), *key))


def _number(connection: sqlite3.Connection, space: Space) -> int:
    return cell(connection, SQL["space"], (space.model, space.version, space.dimension)) or 0


def _tell(connection: sqlite3.Connection, names: Naming, space: Space) -> None:
    ledger = Ledger(connection, 0, names.number(OURSELVES), space.fingerprint)
    ledger.append(ADOPT, 0, None, None, b"")


def _inside(scopes: Iterable[int] | None) -> str:
    return "true" if scopes is None else SQL["pending_inside"].format(scopes=listed(scopes))
