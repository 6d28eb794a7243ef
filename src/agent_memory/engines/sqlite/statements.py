"""SQL statements have names and live in .sql files, one for each topic: `SQL["insert_version"]`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlite3


def load(*topics: str) -> dict[str, str]:
    """Split files at their `-- name: …` lines. `{{name}}` stands for the statement of that name, which came before;
    what is in single braces is the caller's to fill in."""
    found: dict[str, str] = {}
    for topic in topics:
        text = (resources.files("agent_memory.engines.sqlite") / f"{topic}.sql").read_text("utf-8")
        parts = re.split(r"^-- name: (.+)$", text, flags=re.MULTILINE)[1:]
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            found[name] = re.sub(r"{{(\w+)}}", lambda known: found[known[1]], body.strip().rstrip(";"))
    return found


SQL = load(
    *"names present write erase read stock words spaces receipts access feed desk debts proof file".split(),
    *"chains owning tenants".split(),
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
