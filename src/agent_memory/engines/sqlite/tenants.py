"""The `TenantStore` port on SQLite, and what is known of a tenant as a whole."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from agent_memory.engines.sqlite import debts, feed, namespaces, scrub, spending
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning, Naming, tenant_number
from agent_memory.engines.sqlite.journal import STORE, Lines, head
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger.tenants import Leaving, farewell
from agent_memory.ports.changes import Author
from agent_memory.ports.progress import tell
from agent_memory.ports.tenants import Census, Departed

TABLES = (
    *("shown", "receipts", "accesses", "accessed", "working", "lists", "repeats", "vectors", "pending", "words"),
    *("fields", "contents", "links", "versions", "tombstones", "names", "labels", "actors", "cursors"),
    *("debts", "keys", "refusals", "reads", "journal", "scopes", "tenants"),
)
"""What a tenant has rows in; what is needed to find the rows of others comes after them."""


class SqliteTenants:
    """`forgotten` is told of a tenant that is gone, for what this process holds of it in memory."""

    def __init__(self, connections: Connections, forgotten: Callable[[str], None]) -> None:
        self._connections = connections
        self._forgotten = forgotten

    def census(self, tenant: str | None = None) -> list[Census]:
        with self._connections.reading() as connection:
            known = [name for (name,) in connection.execute(SQL["known_tenants"])]
            return [_census(connection, name) for name in sorted(known) if tenant in (None, name)]

    def erase(self, tenant: str, author: Author, now: int) -> Departed:
        with self._connections.writing() as connection:
            check_version(connection, self._connections.name)
            known = (tenant,) in connection.execute(SQL["known_tenants"]).fetchall()
            found = _leaving(connection, tenant) if known else None
            store = Lines(connection, Naming(Interning(), connection), STORE)
            lines = farewell(tenant, found, store.head, author, now)
            census = _census(connection, tenant)
            store.append(lines)
            if found is not None:
                _erase(connection, tenant, found)
            debts.incur_tenant(connection, tenant, lines[-1].seq, now)
            scrub.owe(connection, store[lines[-1].seq])
        self._forgotten(tenant)
        return Departed(census, scrub.scrub(self._connections, patience=scrub.PATIENCE_SECONDS))


def _census(connection: sqlite3.Connection, tenant: str) -> Census:
    return Census(tenant, *connection.execute(SQL["tenant_counts"], {"name": tenant}).fetchone())


def _leaving(connection: sqlite3.Connection, tenant: str) -> Leaving:
    """A tenant that has keys or vectors alone gets its number now."""
    number = tenant_number(connection, tenant)
    lines, old = connection.execute(SQL["lines_of_tenant"], (number,)).fetchone()
    keys = tuple(id for id, *_ in connection.execute(SQL["keys_of"], {"tenant": tenant}))
    end = connection.execute(SQL["old_end"]).fetchone() if old else None
    return Leaving(number, head(connection, number), lines, keys, end)


def _erase(connection: sqlite3.Connection, tenant: str, found: Leaving) -> None:
    """Every row of it, and its name in what was said about jobs and places."""
    whose = {"name": tenant, "tenant": found.number}
    for done, table in enumerate(TABLES):
        tell("tables", done, len(TABLES))
        connection.execute(SQL[f"tenant_{table}"], whose)
    namespaces.forget_tenant(connection, tenant)
    spending.forget_tenant(connection, tenant)
    if found.old is not None:  # lines of it are missing from now on; values beside them would help to guess these
        connection.execute(SQL["close_old"])
    feed.hush(connection, tenant)
    debts.hush(connection, tenant)
