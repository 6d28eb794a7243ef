"""The `AccessStore` port on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from agent_memory.engines.sqlite import keyring
from agent_memory.engines.sqlite.connection import BRIEF_SECONDS, Connections
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.keys import cells, restored
from agent_memory.ledger.seals import sealed
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
            connection.execute(SQL["insert_key"], cells(key))
            keyring.note(connection, key.id, key.created_at)
        return True

    def find(self, id: str) -> KeyRow | None:
        with self._connections.reading() as connection:
            row = connection.execute(SQL["key"], (id,)).fetchone()
        return None if row is None else restored(row)

    def keys(self, tenant: str | None = None) -> list[KeyRow]:
        with self._connections.reading() as connection:
            return [restored(row) for row in connection.execute(SQL["keys_of"], {"tenant": tenant}).fetchall()]

    def guarded(self) -> bool:
        with self._connections.reading() as connection:
            return bool(cell(connection, SQL["guarded"]))

    def end(self, id: str, at: int) -> bool:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            return _end(connection, id, at)

    def refuse(self, lines: Sequence[Refusal]) -> None:
        if self._connections.read_only:
            return
        with self._connections.writing(durable=False, seconds=BRIEF_SECONDS) as connection:
            last = cell(connection, SQL["last_refusal"])
            connection.executemany(
                SQL["insert_refusal"],
                [
                    sealed(number, one.at, one.tenant, one.user, one.operation, one.reason, one.key)
                    for number, one in enumerate(lines, last + 1)
                ],
            )
            for tenant in {one.tenant for one in lines if one.key is not None}:
                connection.execute(SQL["cut_keyed_refusals"], {"tenant": tenant, "most": MOST_REFUSALS})
            if any(one.key is None for one in lines):
                connection.execute(SQL["cut_keyless_refusals"], {"most": MOST_REFUSALS})

    def refused(self, tenant: str, limit: int, *, keyed: bool) -> list[Refusal]:
        asked = {"tenant": tenant, "keyed": keyed, "limit": limit}
        with self._connections.reading() as connection:
            return [Refusal(*row) for row in connection.execute(SQL["refusals"], asked).fetchall()]


def _end(connection: sqlite3.Connection, id: str, at: int) -> bool:
    """Whether it was still good."""
    ended = connection.execute(SQL["end_key"], (at, id)).rowcount > 0
    if ended:
        keyring.note(connection, id, at)
    return ended
