"""SQL statements have names and live in .sql files, one for each topic: `SQL["insert_version"]`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from agent_memory.ledger.statements import load

if TYPE_CHECKING:
    import sqlite3


PACKAGE = "agent_memory.engines.sqlite"
SQL = load(
    PACKAGE,
    *"names present write erase read stock words spaces receipts access feed desk namespaces debts proof file".split(),
    *"chains owning tenants spending shipping reading".split(),
)
VECTORS_PER_LINE = 65536
"""How a vector's number tells the journal line that brought it."""


def cell(connection: sqlite3.Connection, sql: str, values: Any = ()) -> Any:
    """The first column of the first row; None where there is no row."""
    for value, *_ in connection.execute(sql, values):
        return value
    return None


def listed(numbers: Iterable[int]) -> str:
    """For `in (…)`."""
    return ",".join(map(str, numbers))
