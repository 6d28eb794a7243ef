"""The `WorkingStore` port on SQLite: not synced to the disk at each write, and therefore fast.

What is over is never shown; writers sweep it away now and then, so that it does not stay in the file.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence

from agent_memory.engines.sqlite import scrub
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import known_scope, scope_number, tidy
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.seals import sealed
from agent_memory.models.record import SHARED, Scope
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
            found: str | None = cell(connection, SQL["working_get"], (*_place(connection, desk), key, now))
        return found

    def delete(self, desk: Desk, key: str) -> bool:
        with self._connections.writing(durable=False) as connection:
            return connection.execute(SQL["working_delete"], (*_place(connection, desk), key)).rowcount > 0

    def values(self, desk: Desk, *, now: int) -> dict[str, str]:
        with self._connections.reading() as connection:
            return dict(connection.execute(SQL["working_values"], (*_place(connection, desk), now)).fetchall())

    def push(self, desk: Desk, name: str, item: str, *, keep: int, expires_at: int, now: int) -> None:
        with self._connections.writing(durable=False) as connection:
            self._sweep(connection, now)
            place = (scope_number(connection, desk.scope), desk.conversation, name)
            last = cell(connection, SQL["last_item"])
            connection.execute(SQL["list_push"], sealed(last + 1, *place, item, expires_at))
            connection.execute(SQL["list_cut"], (*place, keep))

    def items(self, desk: Desk, name: str, *, limit: int, now: int) -> Sequence[str]:
        with self._connections.reading() as connection:
            found = connection.execute(SQL["list_items"], (*_place(connection, desk), name, limit)).fetchall()
        values, ends = zip(*found, strict=True) if found else ((), ())
        return list(values) if ends and ends[0] > now else []

    def clear(self, desk: Desk) -> None:
        """Every client that is closed asks for this: one that left nothing there need not be able to write."""
        with self._connections.reading() as connection:
            place = _place(connection, desk)
            if not cell(connection, SQL["desk_is_used"], place):
                return
        with self._connections.writing(durable=False) as connection:
            connection.execute(SQL["clear_working"], place)
            connection.execute(SQL["clear_lists"], place)

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self._connections.writing() as connection:
            forget(connection, readers(connection, scope), ids)
            scrub.owe(connection, 0)
        scrub.settle(self._connections)

    def forget_tenant(self, tenant: str) -> None:
        with self._connections.writing() as connection:
            for statement in ("tenant_working", "tenant_lists"):
                connection.execute(SQL[statement], {"name": tenant})
            tidy(connection, tenant)
            scrub.owe(connection, 0)
        scrub.settle(self._connections)

    def _sweep(self, connection: sqlite3.Connection, now: int) -> None:
        """Once a minute is enough, and costs nothing the rest of the time."""
        if self._swept is None or abs(now - self._swept) >= SWEEP_EVERY:
            sweep(connection, now)
            self._swept = now


def readers(connection: sqlite3.Connection, scope: Scope) -> str:
    """The scopes whose readers see this one, as JSON."""
    words = {"tenant": scope.tenant, "user": scope.user, "agent": scope.agent, "all": SHARED}
    return json.dumps([reader for (reader,) in connection.execute(SQL["readers"], words)])


def forget(connection: sqlite3.Connection, scopes: str, ids: Iterable[str]) -> None:
    """Delete what is a picture of these records."""
    for statement in ("erase_items", "erase_values"):
        connection.execute(SQL[statement], {"scopes": scopes, "ids": json.dumps(sorted(ids))})


def sweep(connection: sqlite3.Connection, now: int) -> None:
    """Delete what is over: values, and lists whose last item is."""
    connection.execute(SQL["sweep_working"], (now,))
    connection.execute(SQL["sweep_lists"], {"now": now})


def _place(connection: sqlite3.Connection, desk: Desk) -> tuple[int, str]:
    return known_scope(connection, desk.scope) or 0, desk.conversation
