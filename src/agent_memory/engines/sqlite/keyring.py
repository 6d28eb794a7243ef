"""API keys in the journal: a line when one is made and when it ends, so that none is revived or slipped in unseen."""

from __future__ import annotations

import sqlite3

from agent_memory.engines.sqlite.interning import Interning, Naming
from agent_memory.engines.sqlite.journal import KEY, OURSELVES, Ledger
from agent_memory.engines.sqlite.seals import key_seal
from agent_memory.engines.sqlite.statements import SQL


def note(connection: sqlite3.Connection, id: str, at: int) -> None:
    """Seal a key as it stands after a change, in the transaction of the change."""
    row = connection.execute(SQL["key"], (id,)).fetchone()
    actor = Naming(Interning(), connection).number(OURSELVES)
    Ledger(connection, at, actor, id).append(KEY, 0, None, None, key_seal(*row))


def note_all(connection: sqlite3.Connection) -> None:
    """Keys that were made before they had lines."""
    for id, *_ in reversed(connection.execute(SQL["keys_of"], {"tenant": None}).fetchall()):
        note(connection, id, 0)
