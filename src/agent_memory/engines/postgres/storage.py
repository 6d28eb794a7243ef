"""Forgetting, honestly. What is erased is out of reach when its transaction commits, and stays in the free space of the
files until the tables are rewritten: that is owed from then on, and told, until a rewrite has run. The log of the
database, its archives, replicas and backups are out of our hands: docs/guides/postgresql.md says what to do there."""

from __future__ import annotations

from typing import NamedTuple

from psycopg.errors import InsufficientPrivilege, LockNotAvailable

from agent_memory.engines.postgres.connection import BRIEF_SECONDS, LOCK_SECONDS, Database, PostgresSession
from agent_memory.models.errors import StoreError
from agent_memory.models.moment import from_micros
from agent_memory.ports.spans import log

TABLES = (
    "contents versions links fields vectors large_words large_vectors pending receipts accesses accessed answers "
    "working lists namespaces scores missed debts"
).split()
OF_TENANTS = "tenants scopes journal tombstones cursors keys refusals reads spending budgets leases places".split()
"""What a tenant that was erased whole has been in as well."""
REWRITE_AFTER = 3600 * 1_000_000
"""Who is not patient lets erasures gather for so long: a rewrite shuts everybody out of a table while it lasts."""


_log = log(__name__)


class OwedRewrite(NamedTuple):
    """Since when, how many erasures ago, whether nobody looks at what was there before any more, and whether a whole
    tenant went."""

    since: int
    erasures: int
    free: bool
    tenants: bool


def owe(session: PostgresSession, now: int, *, tenant: bool = False) -> None:
    """In the transaction that erases; `tenant`: a whole one."""
    session.send("owe_storage", {"now": now, "tenant": tenant})


def owed(database: Database) -> OwedRewrite | None:
    with database.reading(None) as session:
        found = session.row("storage_owed")
    return None if found is None else OwedRewrite(*found)


def pay(database: Database, *, patient: bool) -> bool:
    """Rewrite the tables, one after the other; False while something is left."""
    debt = owed(database)
    if debt is None:
        return True
    if patient and (reader := awaited(database)):
        _log.warning("what was forgotten stays in the files until %s has ended", reader)
    if not debt.free or not (patient or _ripe(database, debt)):
        return False
    tables = TABLES + (OF_TENANTS if debt.tenants else [])
    try:
        _rewrite(database, tables, LOCK_SECONDS if patient else BRIEF_SECONDS)
    except StoreError as error:
        if patient and isinstance(error.__cause__, InsufficientPrivilege):
            raise StoreError(
                f"this role may not rewrite the tables: {database.name}",
                hint="run it as the role that owns them; from PostgreSQL 17 on, `grant maintain` is enough",
            ) from error
        if patient and not isinstance(error.__cause__, LockNotAvailable):
            raise
        return False  # somebody uses the tables
    with database.writing(None) as session:
        return session.changed("storage_paid", {"erasures": debt.erasures}) > 0


def ripe(database: Database) -> bool:
    """Whether it is time to rewrite the tables, and nobody is in the way."""
    debt = owed(database)
    return debt is not None and debt.free and _ripe(database, debt)


def _ripe(database: Database, debt: OwedRewrite) -> bool:
    return database.clock() - debt.since >= REWRITE_AFTER


def awaited(database: Database) -> str | None:
    """The transaction that is in the way, in words; None: there is none that this role may know of."""
    with database.reading(None) as session:
        found = session.row("storage_awaited")
    if found is None:
        return None
    process, role, program, since = found
    begun = f"{from_micros(since):%Y-%m-%d %H:%M:%S} UTC" if since else "some time ago"
    return f"the transaction of process {process} ({role}{program and ', ' + program}, begun {begun})"


def _rewrite(database: Database, tables: list[str], seconds: float) -> None:
    with database.reading(None) as session:
        orders: dict[str, str] = dict(session.rows("orders", {"tables": tables}))
    for table in tables:
        with database.writing(None, seconds=seconds) as session:
            session.take_your_time()
            if table == "large_vectors":
                _shed(session)
            session.send("rewrite", table=table, index=orders[table])
            session.send("count_rows", table=table)


def _shed(session: PostgresSession) -> None:
    """The indexes of large readers, where this role may: made anew in here, they would shut everybody out of the table
    for as long as that takes. The job `index` makes them beside whoever reads, and memory answers meanwhile."""
    indexes = session.rows("large_indexes")
    if indexes and session.cell("owns"):
        session.send("unready_large")
        for name, _ in indexes:
            session.send("shed_index", index=name)
