"""Whether to believe the clock before something is deleted because its time is over."""

from __future__ import annotations

import sqlite3

from agent_memory.engines.sqlite.journal import moments
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.receipts import witnesses


def believed(connection: sqlite3.Connection, now: int, span: int) -> bool:
    """Whether a receipt or a line of any journal leads up to this moment."""
    first, last = witnesses(now, span)
    if cell(connection, SQL["asked_between"], (first, last)):
        return True
    try:
        return any(at >= first for at in moments(connection, last))
    except TypeError:  # a moment in the journal is damaged: `verify` names it, and here nothing goes by it
        return False
