"""Whether to believe the clock before something is deleted because its time is over.

A clock that is years ahead would take everything at once. Nothing in the file can tell such a clock from a long pause,
except what comes after: in real time, the store is used again and again. So a moment is believed only if something was
written or asked in the span before it, though not just now. Until then things are kept for longer.
"""

from __future__ import annotations

import sqlite3

from agent_memory.engines.sqlite.journal import moments
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ports.receipts import JUST_NOW


def believed(connection: sqlite3.Connection, now: int, span: int) -> bool:
    """Whether a receipt or a line of any journal leads up to this moment."""
    first, last = now - span, now - span // JUST_NOW
    if cell(connection, SQL["asked_between"], (first, last)):
        return True
    try:
        return any(at >= first for at in moments(connection, last))
    except TypeError:  # a moment in the journal is damaged: `verify` names it, and here nothing goes by it
        return False
