"""What stores of vectors elsewhere have not been told yet: noted by the transaction that changes a vector."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable

from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.seals import sealed
from agent_memory.ports.vectors import Lag


def owe(connection: sqlite3.Connection, rows: Iterable[tuple[str, str]], place: str | None = None) -> None:
    """That these (namespace, id) have changed, to each such place or to one."""
    rows = [*rows]
    for number, name in connection.execute(SQL["vector_places"]).fetchall():
        if place in (None, name):
            _owe(connection, number, rows)


def owe_again(connection: sqlite3.Connection, rows: Iterable[tuple[str, str]]) -> None:
    """The same where it is owed already: somebody may be telling it right now. What is not is a debt's affair."""
    rows = [*rows]
    for number, _ in connection.execute(SQL["vector_places"]).fetchall():
        _owe(connection, number, (row for row in rows if _since(connection, number, row) is not None))


def owe_all(connection: sqlite3.Connection, place: int) -> None:
    """Everything that there is, to a new place."""
    _owe(connection, place, connection.execute(SQL["all_vectors"]).fetchall())


def lags(connection: sqlite3.Connection) -> list[Lag]:
    return [Lag(*row) for row in connection.execute(SQL["lags"])]


def _owe(connection: sqlite3.Connection, place: int, rows: Iterable[tuple[str, str]]) -> None:
    number, now = cell(connection, SQL["next_missed"], (place,)), time.time_ns() // 1000
    for later, row in enumerate(rows):
        since = _since(connection, place, row)
        values = sealed(place, *row, number + later, now if since is None else since)
        connection.execute(SQL["put_missed"], values)


def _since(connection: sqlite3.Connection, place: int, row: tuple[str, str]) -> int | None:
    since: int | None = cell(connection, SQL["missed_since"], (place, *row))
    return since
