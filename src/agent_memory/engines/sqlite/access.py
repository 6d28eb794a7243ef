"""The `AccessStore` port on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_memory.engines.sqlite import keyring
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.seals import sealed
from agent_memory.ports.access import KeyRow, Refusal

MOST_REFUSALS = 100_000


class SqliteAccess:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(self, key: KeyRow, *, instead: str | None = None) -> None:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            connection.execute(
                f"insert into keys ({keyring.COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(key.id, key.digest, key.label, key.tenant, key.user, " ".join(key.permissions)),
                    *(key.created_at, key.expires_at, key.ended_at),
                ),
            )
            keyring.note(connection, key.id, key.created_at)
            if instead is not None:
                _end(connection, instead, key.created_at)

    def find(self, id: str) -> KeyRow | None:
        with self._connections.reading() as connection:
            row = connection.execute(f"select {keyring.COLUMNS} from keys where id = ?", (id,)).fetchone()
        return None if row is None else _key(row)

    def keys(self, tenant: str | None = None) -> list[KeyRow]:
        sql = f"select {keyring.COLUMNS} from keys where ? is null or tenant = ? order by created_at desc, id desc"
        with self._connections.reading() as connection:
            return [_key(row) for row in connection.execute(sql, (tenant, tenant)).fetchall()]

    def end(self, id: str, at: int) -> bool:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            return _end(connection, id, at)

    def refuse(self, lines: Sequence[Refusal]) -> None:
        if self._connections.read_only:
            return
        with self._connections.writing(durable=False) as connection:
            last = connection.execute("select coalesce(max(number), 0) from refusals").fetchone()[0]
            connection.executemany(
                "insert into refusals (number, at, tenant, user, operation, reason, key, seal) "
                "values (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    sealed(number, one.at, one.tenant, one.user, one.operation, one.reason, one.key)
                    for number, one in enumerate(lines, last + 1)
                ],
            )
            connection.execute(
                "delete from refusals where number <= (select max(number) from refusals) - ?", (MOST_REFUSALS,)
            )

    def refused(self, tenant: str, limit: int) -> list[Refusal]:
        columns = "at, tenant, user, operation, reason, key"
        sql = f"select {columns} from refusals where tenant = ? order by number desc limit ?"
        with self._connections.reading() as connection:
            return [Refusal(*row) for row in connection.execute(sql, (tenant, limit)).fetchall()]


def _end(connection: sqlite3.Connection, id: str, at: int) -> bool:
    """Whether it was still good."""
    sql = "update keys set ended_at = ? where id = ? and ended_at is null"
    ended = connection.execute(sql, (at, id)).rowcount > 0
    if ended:
        keyring.note(connection, id, at)
    return ended


def _key(row: tuple[object, ...]) -> KeyRow:
    id, digest, label, tenant, user, permissions, *times = row
    return KeyRow(id, digest, label, tenant, user, tuple(str(permissions).split()), *times)  # type: ignore[arg-type]
