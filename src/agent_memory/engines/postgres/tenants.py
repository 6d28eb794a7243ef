"""The `TenantStore` port on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable

from agent_memory.engines.postgres import debts, spending, storage
from agent_memory.engines.postgres.connection import Database, PostgresSession
from agent_memory.engines.postgres.journal import STORE, append
from agent_memory.ledger.journal import Head
from agent_memory.ledger.tenants import Leaving, farewell
from agent_memory.ports.changes import Author
from agent_memory.ports.tenants import Census, Departed

TABLES = (
    "receipts accesses accessed working lists answers large_scopes large_words large_vectors vectors pending fields "
    "contents links versions tombstones namespaces scores cursors debts journal scopes tenants"
).split()
NAMED = ("keys", "refusals", "reads")  # these have its name, and not its number


class PostgresTenants:
    """`forgotten` is told of a tenant that is gone, for what this process holds of it in memory."""

    def __init__(self, database: Database, forgotten: Callable[[str], None]) -> None:
        self._database = database
        self._forgotten = forgotten

    def census(self, tenant: str | None = None) -> list[Census]:
        with self._database.reading(None) as session:
            known = [name for (name,) in session.rows("known_tenants") if tenant in (None, name)]
            return [_census(session, name) for name in known]

    def erase(self, tenant: str, author: Author, now: int) -> Departed:
        with self._database.writing(None) as session:
            session.take_your_time()
            found = self._leaving(session, tenant)
            store = Head(*(session.row("lock_head", {"tenant": STORE}) or ()))
            lines = farewell(tenant, found, store, author, now)
            census = _census(session, tenant)
            append(session, STORE, lines)
            if found is not None:
                _erase(session, tenant, found)
                debts.incur_tenant(session, found.number, tenant, lines[-1].seq, now)
            storage.owe(session, now, tenant=True)
        self._forgotten(tenant)
        return Departed(census, scrubbed=False)

    def _leaving(self, session: PostgresSession, tenant: str) -> Leaving | None:
        """A tenant that has keys alone gets its number now."""
        if (tenant,) not in session.rows("known_tenants"):
            return None
        row = session.row("lock_tenant", {"name": tenant})
        if row is None:
            session.make(tenant)
            row = session.row("lock_tenant", {"name": tenant}) or ()
        session.send("lock_spaces")
        session.send("lock_head", {"tenant": STORE})
        number, *head = row
        keys = tuple(id for id, *_ in session.rows("keys_of", {"tenant": tenant}))
        lines, old = session.row("lines_of_tenant", {"tenant": number}) or (0, 0)
        end = session.row("show_common") if old else None
        return Leaving(number, Head(*head), lines, keys, (end[0], end[1]) if end else None)


def _census(session: PostgresSession, tenant: str) -> Census:
    return Census(tenant, *(session.row("tenant_counts", {"name": tenant}) or ()))


def _erase(session: PostgresSession, tenant: str, found: Leaving) -> None:
    """Every row of it, and its name in what was said about jobs."""
    for table in TABLES:
        session.send("rows_of_tenant", {"tenant": found.number}, table=table)
    for table in NAMED:
        session.send("named_by_tenant", {"name": tenant}, table=table)
    spending.forget_tenant(session, tenant)
    session.send("miss_tenant_again", {"tenant": found.number})
    if found.old is not None:  # lines of it are missing from now on; values beside them would help to guess these
        session.send("close_old")
    session.send("hush_jobs", {"tenant": tenant})
