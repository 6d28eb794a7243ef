"""The `WorkingStore` port on PostgreSQL: committed without waiting for the disk, and therefore fast.

What is over is never shown; writers sweep it away now and then, so that it does not stay.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from hashlib import sha256
from typing import Any

from agent_memory.engines.postgres.connection import Database, PostgresSession
from agent_memory.models.record import SHARED, Scope
from agent_memory.ports.working import Desk

SWEEP_EVERY = 60_000_000


class PostgresWorking:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._swept: dict[str, int] = {}

    def set(self, desk: Desk, key: str, value: str, *, expires_at: int, now: int) -> None:
        with self._database.writing(desk.scope.tenant, durable=False) as session:
            session.settle(desk.scope.tenant)
            self._sweep(session, desk, now)
            row = place(desk, key) | {"key": key, "value": value, "expires_at": expires_at}
            session.send("working_set", row)

    def get(self, desk: Desk, key: str, *, now: int) -> str | None:
        with self._database.reading(desk.scope.tenant) as session:
            found: str | None = session.cell("working_get", place(desk, key) | {"now": now})
        return found

    def delete(self, desk: Desk, key: str) -> bool:
        with self._database.writing(desk.scope.tenant, durable=False) as session:
            return session.changed("working_delete", place(desk, key)) > 0

    def values(self, desk: Desk, *, now: int) -> dict[str, str]:
        with self._database.reading(desk.scope.tenant) as session:
            return dict(session.rows("working_values", place(desk) | {"now": now}))

    def push(self, desk: Desk, name: str, item: str, *, keep: int, expires_at: int, now: int) -> None:
        with self._database.writing(desk.scope.tenant, durable=False) as session:
            session.settle(desk.scope.tenant)
            self._sweep(session, desk, now)
            where = place(desk, name)
            session.send("list_push", where | {"value": item, "expires_at": expires_at})
            session.send("list_cut", where | {"keep": keep})

    def items(self, desk: Desk, name: str, *, limit: int, now: int) -> Sequence[str]:
        with self._database.reading(desk.scope.tenant) as session:
            found = session.rows("list_items", place(desk, name) | {"limit": limit})
        return [value for value, _ in found] if found and found[0][1] > now else []

    def clear(self, desk: Desk) -> None:
        """Every client that is closed asks for this: one that left nothing there need not be able to write."""
        with self._database.reading(desk.scope.tenant) as session:
            if not session.cell("desk_is_used", place(desk)):
                return
        with self._database.writing(desk.scope.tenant, durable=False) as session:
            session.send("clear_working", place(desk))
            session.send("clear_lists", place(desk))

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        with self._database.writing(scope.tenant) as session:
            forget(session, scope, ids)

    def forget_tenant(self, tenant: str) -> None:
        with self._database.writing(tenant) as session:
            session.send("all_working")
            session.send("all_lists")

    def _sweep(self, session: PostgresSession, desk: Desk, now: int) -> None:
        """Once a minute is enough, and costs nothing the rest of the time."""
        last = self._swept.get(desk.scope.tenant)
        if last is None or abs(now - last) >= SWEEP_EVERY:
            sweep(session, now)
            self._swept[desk.scope.tenant] = now


def forget(session: PostgresSession, scope: Scope, ids: Collection[str]) -> None:
    """Delete what is a picture of these records, from every desk whose reader sees the scope."""
    whose = {"user": scope.user, "agent": scope.agent, "all": SHARED}
    values, items = session.send("values_of_readers", whose), session.send("items_of_readers", whose)
    if gone := [row for row in values.fetchall() if _id(row[-1]) in ids]:
        desks, slots, _ = map(list, zip(*gone, strict=True))
        session.send("delete_values", {"desks": desks, "slots": slots})
    if gone := [row for row in items.fetchall() if _id(row[-1]) in ids]:
        desks, slots, numbers, _ = map(list, zip(*gone, strict=True))
        session.send("delete_items", {"desks": desks, "slots": slots, "items": numbers})


def sweep(session: PostgresSession, now: int) -> None:
    """Delete what is over: values, and lists whose last item is."""
    session.send("sweep_working", {"now": now})
    session.send("sweep_lists", {"now": now})


def _id(text: str) -> str | None:
    said = json.loads(text)
    found = said.get("id") if isinstance(said, dict) else None
    return found if isinstance(found, str) else None


def place(desk: Desk, name: str = "") -> dict[str, Any]:
    """Where a value or a list is kept. Hashes find it, since names may be longer than an entry of an index."""
    whose = json.dumps([desk.scope.user, desk.scope.agent, desk.conversation])
    slot = sha256(name.encode()).digest()
    return {
        "desk": sha256(whose.encode()).digest(),
        "slot": slot,
        "user": desk.scope.user,
        "agent": desk.scope.agent,
        "conversation": desk.conversation,
        "name": name,
    }
