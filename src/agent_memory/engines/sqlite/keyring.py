"""The journal lines of API keys."""

from __future__ import annotations

import sqlite3

from agent_memory.engines.sqlite.interning import Interning, Naming
from agent_memory.engines.sqlite.journal import STORE, Lines
from agent_memory.engines.sqlite.statements import SQL
from agent_memory.ledger.keys import noting


def note(connection: sqlite3.Connection, id: str, at: int) -> None:
    """Seal a key as it stands after a change, in the transaction of the change."""
    row = connection.execute(SQL["key"], (id,)).fetchone()
    store = Lines(connection, Naming(Interning(), connection), STORE)
    store.append([noting(store.head, row, at)])


def note_all(connection: sqlite3.Connection) -> None:
    """Keys that were made before they had lines."""
    for id, *_ in reversed(connection.execute(SQL["keys_of"], {"tenant": None}).fetchall()):
        note(connection, id, 0)
