"""Embedding spaces: which one answers, what it still lacks, and building another beside it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping

from agent_memory.engines.sqlite.cells import decoded
from agent_memory.engines.sqlite.interning import Naming
from agent_memory.engines.sqlite.journal import STORE, Lines, head
from agent_memory.engines.sqlite.statements import SQL, cell, listed
from agent_memory.ledger.quantise import restored
from agent_memory.ledger.rows import Lack
from agent_memory.ledger.seals import checksum, sealed
from agent_memory.ledger.spaces import adopting, beginning, each, switches
from agent_memory.ports.changes import Vector
from agent_memory.ports.embedder import Space
from agent_memory.ports.index import Sampled, Unembedded


def known(connection: sqlite3.Connection) -> dict[Space, int]:
    """The active space first, and one that is being built beside it."""
    rows = connection.execute(SQL["spaces"])
    return {Space(model, version, dimension): number for number, model, version, dimension, _ in rows}


def active(connection: sqlite3.Connection) -> tuple[int, Space | None]:
    for number, model, version, dimension, is_active in connection.execute(SQL["spaces"]):
        if is_active:
            return number, Space(model, version, dimension)
    return 0, None


def adopted(connection: sqlite3.Connection, after: int) -> bool:
    space = active(connection)[1]
    return bool(cell(connection, SQL["adopted"], (after, space.fingerprint if space else None)))


def begin(connection: sqlite3.Connection, names: Naming, space: Space, anew: bool) -> None:
    step = beginning([*known(connection)], space, anew=anew)
    if step.again:
        number = _number(connection, space)
        connection.execute(SQL["unpend"], (number,))
        connection.execute(SQL["pend_again"], (number, json.dumps(_brought(connection, number))))
    if step.new:
        number = cell(connection, SQL["next_space"])
        _keep(connection, number, space, active=step.first)
        connection.execute(SQL["pend_everything"], {"space": number})
    if step.first:
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
    if not switches([*known(connection)], space, pending(connection, space, None), anew=anew):
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
    """Of one tenant: without scopes, of whom the newest of all is."""
    number = _number(connection, space)
    if scopes is None:
        newest = cell(connection, SQL["newest_pending"], (number,))
        scopes = [scope for (scope,) in connection.execute(SQL["scopes_of"], (newest,))]
    rows = connection.execute(SQL["unembedded"].format(whose=_inside(scopes)), (number, limit))
    store = head(connection, STORE).seq
    return [Unembedded(tenant, handle, decoded(text, codec), part, store) for tenant, handle, text, codec, part in rows]


def sample(connection: sqlite3.Connection, space: Space, count: int) -> list[Sampled]:
    """By chance, so that many a `verify` sees many. Rows of 0.1, without a seal, do not tell who made them."""
    rows = connection.execute(SQL["sample"], (_number(connection, space), count)).fetchall()
    return [
        Sampled(tenant, content, decoded(text, codec)[start:end], Vector.of(part, start, end, restored(scale, data)))
        for tenant, content, text, codec, part, start, end, scale, data in rows
    ]


def vectors(connection: sqlite3.Connection, among: Mapping[str, object]) -> dict[int, tuple[Vector, ...]]:
    """Those of versions of a tenant in the active space, by their number."""
    rows = connection.execute(SQL["vectors_of"], {**among, "space": active(connection)[0]})
    return each(rows)


def lacking(
    connection: sqlite3.Connection, names: Naming, lines: Lines, space: Space, contents: Iterable[int]
) -> dict[int, Lack]:
    """What of these contents of a tenant waits for vectors in a space."""
    asked = {"space": _number(connection, space), "tenant": lines.tenant, "contents": json.dumps(list(contents))}
    return {
        (number := lines.read(line, found)): Lack(number, names.scope_of(scope), space, part)
        for line, found, scope, part in connection.execute(SQL["lacking"], asked).fetchall()
    }


def fill(connection: sqlite3.Connection, row: tuple[int, int, int], lack: Lack, part: int | None) -> None:
    """A content lacks only what comes from this passage on, or nothing any more. `row`: its scope, space and line."""
    _, space, content = row
    if not lack.part:  # made anew: the old ones stood in until now
        connection.execute(SQL["delete_vectors"], row)
    if part is None:
        connection.execute(SQL["delete_pending"], (content, space))
    else:
        connection.execute(SQL["go_on_pending"], (part, content, space))


def _number(connection: sqlite3.Connection, space: Space) -> int:
    return cell(connection, SQL["space"], (space.model, space.version, space.dimension)) or 0


def _tell(connection: sqlite3.Connection, names: Naming, space: Space) -> None:
    store = Lines(connection, names, STORE)
    store.append([adopting(store.head, space.fingerprint)])


def _inside(scopes: Iterable[int] | None) -> str:
    return "true" if scopes is None else SQL["pending_inside"].format(scopes=listed(scopes))
