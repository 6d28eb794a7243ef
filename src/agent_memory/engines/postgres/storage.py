"""Forgetting, honestly. What is erased is out of reach when its transaction commits, and stays in the free space of the
files until the tables are rewritten: that is owed from then on, and told, until a rewrite has run. The log of the
database, its archives, replicas and backups are out of our hands: docs/guides/postgresql.md says what to do there."""

from __future__ import annotations

from typing import NamedTuple

from psycopg.errors import LockNotAvailable

from agent_memory.engines.postgres.connection import BRIEF_SECONDS, LOCK_SECONDS, Database, Session
from agent_memory.models.errors import StoreError

TABLES = (
    "contents versions links fields vectors pending receipts accesses accessed answers working lists namespaces debts"
).split()
REWRITE_AFTER = 3600 * 1_000_000
"""Who is not patient lets erasures gather for so long: a rewrite shuts everybody out of a table while it lasts."""


class Owed(NamedTuple):
    """Since when, how many erasures ago, and whether nobody looks at what was there before any more."""

    since: int
    erasures: int
    free: bool


def owe(session: Session, now: int) -> None:
    """In the transaction that erases."""
    session.send("owe_storage", {"now": now})


def owed(database: Database) -> Owed | None:
    with database.reading(None) as session:
        found = session.row("storage_owed")
    return None if found is None else Owed(*found)


def pay(database: Database, *, patient: bool) -> bool:
    """Rewrite the tables; False while something is left. It wants the role that owns them."""
    debt = owed(database)
    if debt is None:
        return True
    if not debt.free or not (patient or database.clock() - debt.since >= REWRITE_AFTER):
        return False
    try:
        database.alone("rewrite", seconds=LOCK_SECONDS if patient else BRIEF_SECONDS, tables=", ".join(TABLES))
    except StoreError as error:
        if patient and not isinstance(error.__cause__, LockNotAvailable):
            raise
        return False  # somebody uses the tables
    with database.writing(None) as session:
        return session.changed("storage_paid", {"erasures": debt.erasures}) > 0
