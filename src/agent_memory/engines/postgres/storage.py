"""Forgetting, honestly. What is erased is out of reach when its transaction commits, and stays in the free space of the
files until the tables are rewritten: that is owed from then on, and told, until a rewrite has run. The log of the
database, its archives, replicas and backups are out of our hands: docs/guides/postgresql.md says what to do there."""

from __future__ import annotations

from typing import NamedTuple

from psycopg.errors import LockNotAvailable

from agent_memory.engines.postgres.connection import BRIEF_SECONDS, LOCK_SECONDS, Database, Session
from agent_memory.models.errors import StoreError

TABLES = (
    "contents versions links fields vectors pending receipts accesses accessed answers working lists namespaces scores "
    "missed debts"
).split()
OF_TENANTS = "tenants scopes journal tombstones cursors keys refusals leases places".split()
"""What a tenant that was erased whole has been in as well."""
REWRITE_AFTER = 3600 * 1_000_000
"""Who is not patient lets erasures gather for so long: a rewrite shuts everybody out of a table while it lasts."""


class Owed(NamedTuple):
    """Since when, how many erasures ago, whether nobody looks at what was there before any more, and whether a whole
    tenant went."""

    since: int
    erasures: int
    free: bool
    tenants: bool


def owe(session: Session, now: int, *, tenant: bool = False) -> None:
    """In the transaction that erases; `tenant`: a whole one."""
    session.send("owe_storage", {"now": now, "tenant": tenant})


def owed(database: Database) -> Owed | None:
    with database.reading(None) as session:
        found = session.row("storage_owed")
    return None if found is None else Owed(*found)


def pay(database: Database, *, patient: bool) -> bool:
    """Rewrite the tables; False while something is left. Where the role may not, PostgreSQL passes a table over with no
    more than a warning: so whether it was rewritten is looked at."""
    debt = owed(database)
    if debt is None:
        return True
    if not debt.free or not (patient or database.clock() - debt.since >= REWRITE_AFTER):
        return False
    tables = TABLES + (OF_TENANTS if debt.tenants else [])
    before = _files(database, tables)
    try:
        database.alone("rewrite", seconds=LOCK_SECONDS if patient else BRIEF_SECONDS, tables=", ".join(tables))
    except StoreError as error:
        if patient and not isinstance(error.__cause__, LockNotAvailable):
            raise
        return False  # somebody uses the tables
    if left := sorted(before & _files(database, tables)):
        if patient:
            raise StoreError(
                f"this role may not rewrite the tables: {', '.join(name for name, _ in left)}: {database.name}",
                hint="run it as the role that owns them; from PostgreSQL 17 on, `grant maintain` is enough",
            )
        return False
    with database.writing(None) as session:
        return session.changed("storage_paid", {"erasures": debt.erasures}) > 0


def _files(database: Database, tables: list[str]) -> set[tuple[str, int]]:
    with database.reading(None) as session:
        return {(name, file) for name, file in session.rows("filenodes", {"tables": tables})}
