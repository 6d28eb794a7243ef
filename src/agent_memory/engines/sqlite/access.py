"""The `AccessStore` port on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_memory.engines.sqlite import keyring
from agent_memory.engines.sqlite.connection import BRIEF_SECONDS, Connections
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.seals import sealed
from agent_memory.ports.access import KeyRow, Refusal

MOST_REFUSALS = 10_000  # of the keys of one tenant; and of all calls without one


class SqliteAccess:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def add(self, key: KeyRow, *, instead: str | None = None) -> bool:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            if instead is not None and not _end(connection, instead, key.created_at):
                return False
            connection.execute(
                f"insert into keys ({keyring.COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(key.id, key.digest, key.label, key.tenant, key.user, " ".join(key.permissions)),
                    *(key.created_at, key.expires_at, key.ended_at),
                ),
            )
            keyring.note(connection, key.id, key.created_at)
        return True

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
        with self._connections.writing(durable=False, seconds=BRIEF_SECONDS) as connection:
            last = connection.execute("select coalesce(max(number), 0) from refusals").fetchone()[0]
            connection.executemany(
                "insert into refusals (number, at, tenant, user, operation, reason, key, seal) "
                "values (?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    sealed(number, one.at, one.tenant, one.user, one.operation, one.reason, one.key)
                    for number, one in enumerate(lines, last + 1)
                ],
            )
            for tenant in {one.tenant for one in lines if one.key is not None}:
                _cut(connection, "tenant = :tenant and key is not null", tenant)
            if any(one.key is None for one in lines):
                _cut(connection, "key is null")

    def refused(self, tenant: str, limit: int, *, keyed: bool) -> list[Refusal]:
        columns, whose = "at, tenant, user, operation, reason, key", "is not null" if keyed else "is null"
        sql = f"select {columns} from refusals where tenant = ? and key {whose} order by number desc limit ?"
        with self._connections.reading() as connection:
            return [Refusal(*row) for row in connection.execute(sql, (tenant, limit)).fetchall()]


def _end(connection: sqlite3.Connection, id: str, at: int) -> bool:
    """Whether it was still good."""
    sql = "update keys set ended_at = ? where id = ? and ended_at is null"
    ended = connection.execute(sql, (at, id)).rowcount > 0
    if ended:
        keyring.note(connection, id, at)
    return ended


def _cut(connection: sqlite3.Connection, which: str, tenant: str | None = None) -> None:
    """Leave the newest of these refusals."""
    oldest = f"select number from refusals where {which} order by number desc limit 1 offset :most"
    connection.execute(
        f"delete from refusals where {which} and number <= ({oldest})", {"tenant": tenant, "most": MOST_REFUSALS}
    )


def _key(row: tuple[object, ...]) -> KeyRow:
    id, digest, label, tenant, user, permissions, *times = row
    return KeyRow(id, digest, label, tenant, user, tuple(str(permissions).split()), *times)  # type: ignore[arg-type]
