"""The `WorkingStore` port on SQLite: not synced to the disk at each write, and therefore fast.

What is over is never shown; writers sweep it away now and then, so that it does not stay in the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import known_scope, scope_number
from agent_memory.engines.sqlite.seals import sealed
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ports.working import Desk

SWEEP_EVERY = 60_000_000


class SqliteWorking:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._swept: int | None = None

    def set(self, desk: Desk, key: str, value: str, *, expires_at: int, now: int) -> None:
        with self._connections.writing(durable=False) as connection:
            self._sweep(connection, now)
            scope = scope_number(connection, desk.scope)
            connection.execute(SQL["working_set"], sealed(scope, desk.conversation, key, value, expires_at))

    def get(self, desk: Desk, key: str, *, now: int) -> str | None:
        with self._connections.reading() as connection:
            row = connection.execute(
                "select value from working where scope = ? and conversation = ? and key = ? and expires_at > ?",
                (*_place(connection, desk), key, now),
            ).fetchone()
        return None if row is None else row[0]

    def delete(self, desk: Desk, key: str) -> bool:
        with self._connections.writing(durable=False) as connection:
            cursor = connection.execute(
                "delete from working where scope = ? and conversation = ? and key = ?",
                (*_place(connection, desk), key),
            )
            return cursor.rowcount > 0

    def values(self, desk: Desk, *, now: int) -> dict[str, str]:
        with self._connections.reading() as connection:
            return dict(
                connection.execute(
                    "select key, value from working where scope = ? and conversation = ? and expires_at > ?",
                    (*_place(connection, desk), now),
                ).fetchall()
            )

    def push(self, desk: Desk, name: str, item: str, *, keep: int, expires_at: int, now: int) -> None:
        with self._connections.writing(durable=False) as connection:
            self._sweep(connection, now)
            place = (scope_number(connection, desk.scope), desk.conversation, name)
            last = connection.execute("select coalesce(max(item), 0) from lists").fetchone()[0]
            connection.execute(
                "insert into lists (item, scope, conversation, name, value, expires_at, seal) "
                "values (?, ?, ?, ?, ?, ?, ?)",
                sealed(last + 1, *place, item, expires_at),
            )
            connection.execute(
                "delete from lists where scope = ? and conversation = ? and name = ? and item not in (select item "
                "from lists where scope = ? and conversation = ? and name = ? order by item desc limit ?)",
                (*place, *place, keep),
            )

    def items(self, desk: Desk, name: str, *, limit: int, now: int) -> Sequence[str]:
        with self._connections.reading() as connection:
            rows = connection.execute(
                "select value, expires_at from lists where scope = ? and conversation = ? and name = ? "
                "order by item desc limit ?",
                (*_place(connection, desk), name, limit),
            ).fetchall()
        return [value for value, _ in rows] if rows and rows[0][1] > now else []

    def clear(self, desk: Desk) -> None:
        """Every client that is closed asks for this: one that left nothing there need not be able to write."""
        with self._connections.reading() as connection:
            place = _place(connection, desk)
            there = (f"select 1 from {table} where scope = ? and conversation = ?" for table in ("working", "lists"))
            if not any(connection.execute(sql, place).fetchone() for sql in there):
                return
        with self._connections.writing(durable=False) as connection:
            connection.execute("delete from working where scope = ? and conversation = ?", place)
            connection.execute("delete from lists where scope = ? and conversation = ?", place)

    def _sweep(self, connection: sqlite3.Connection, now: int) -> None:
        """Once a minute is enough, and costs nothing the rest of the time."""
        if self._swept is None or abs(now - self._swept) >= SWEEP_EVERY:
            sweep(connection, now)
            self._swept = now


def sweep(connection: sqlite3.Connection, now: int) -> None:
    """Delete what is over: values, and lists whose last item is."""
    connection.execute("delete from working where expires_at <= ?", (now,))
    connection.execute(
        "delete from lists where item in (select l.item from lists l where l.expires_at <= :now and (select "
        "n.expires_at from lists n where n.scope = l.scope and n.conversation = l.conversation and n.name = l.name "
        "order by n.item desc limit 1) <= :now)",
        {"now": now},
    )


def _place(connection: sqlite3.Connection, desk: Desk) -> tuple[int, str]:
    return known_scope(connection, desk.scope) or 0, desk.conversation
