"""The `AccessStore` port on PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.engines.postgres.connection import BRIEF_SECONDS, Database, PostgresSession
from agent_memory.engines.postgres.journal import STORE, tell_store
from agent_memory.ledger.keys import cells, noting, restored
from agent_memory.ports.access import KeyRow, Refusal

MOST_REFUSALS = 10_000  # of the keys of one tenant; and of all calls without one


class PostgresAccess:
    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: KeyRow, *, instead: str | None = None) -> bool:
        with self._database.writing(None) as session:
            session.send("lock_head", {"tenant": STORE})  # first, as whoever erases a tenant with its keys
            if instead is not None and not _end(session, instead, key.created_at):
                return False
            session.send("insert_key", cells(key))
            _note(session, key.id, key.created_at)
        return True

    def find(self, id: str) -> KeyRow | None:
        with self._database.reading(None) as session:
            row = session.row("key", {"id": id})
        return None if row is None else restored(row)

    def keys(self, tenant: str | None = None) -> list[KeyRow]:
        with self._database.reading(None) as session:
            return [restored(row) for row in session.rows("keys_of", {"tenant": tenant})]

    def guarded(self) -> bool:
        with self._database.reading(None) as session:
            return bool(session.cell("guarded"))

    def end(self, id: str, at: int) -> bool:
        with self._database.writing(None) as session:
            session.send("lock_head", {"tenant": STORE})
            return _end(session, id, at)

    def refuse(self, lines: Sequence[Refusal]) -> None:
        with self._database.writing(None, durable=False, seconds=BRIEF_SECONDS) as session:
            for one in lines:
                session.send("insert_refusal", (one.at, one.tenant, one.user, one.operation, one.reason, one.key))
            for tenant in {one.tenant for one in lines if one.key is not None}:
                session.send("cut_keyed_refusals", {"tenant": tenant, "most": MOST_REFUSALS})
            if any(one.key is None for one in lines):
                session.send("cut_keyless_refusals", {"most": MOST_REFUSALS})

    def refused(self, tenant: str, limit: int, *, keyed: bool) -> list[Refusal]:
        asked = {"tenant": tenant, "keyed": keyed, "limit": limit}
        with self._database.reading(None) as session:
            return [Refusal(*row) for row in session.rows("refusals", asked)]


def _end(session: PostgresSession, id: str, at: int) -> bool:
    """Whether it was still good."""
    ended = session.changed("end_key", {"id": id, "at": at}) > 0
    if ended:
        _note(session, id, at)
    return ended


def _note(session: PostgresSession, id: str, at: int) -> None:
    """Seal a key as it stands after a change, in the transaction of the change."""
    row = session.row("key", {"id": id}) or ()
    tell_store(session, lambda head: [noting(head, row, at)])
