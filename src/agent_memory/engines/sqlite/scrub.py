"""What was erased leaves the disk, too: from the log, and from between the rows of the file.

The debt is noted by the transaction that erases, so that a crash leaves it noted; later writes and a job pay it.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from agent_memory.engines.sqlite import log, slack
from agent_memory.engines.sqlite.connection import Connections, waiting
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.models.errors import AgentMemoryError, StoreError
from agent_memory.ports import spans

PATIENCE_SECONDS = 5.0  # how long a forget waits for readers that hold the log
_STEP_SECONDS = 0.2
_log = spans.log(__name__)


def owe(connection: sqlite3.Connection, line: int) -> None:
    """Note the first erasure that is not scrubbed yet."""
    connection.execute(SQL["owe"], (str(line),))


def owed(connection: sqlite3.Connection) -> int | None:
    """The journal line of the first erasure of which something may still be on the disk."""
    line = cell(connection, SQL["owed"])
    return None if line is None else int(line) if str(line).isdecimal() else 0


def owes(connections: Connections) -> bool:
    with connections.reading() as connection:
        return owed(connection) is not None


def pay(connections: Connections, *, patient: bool) -> bool:
    """Scrub, if that is owed; False when it still is. Who is not `patient` tries once, and waits for nobody."""
    if not owes(connections):
        return True
    return not connections.read_only and scrub(connections, patience=PATIENCE_SECONDS if patient else 0.0)


def settle(connections: Connections) -> None:
    """Pay now; `StoreError` if that cannot be."""
    if not pay(connections, patient=True):
        raise StoreError("what was forgotten is not gone from the disk yet", hint="another process reads; try again")


def scrub(connections: Connections, *, patience: float = 0.0) -> bool:
    """Leave no copy on the disk; False when that is still owed.

    Somebody who reads may need the log, and somebody who writes may be faster: then it is tried again, for as long as
    there is patience. What was erased is committed in any case; only the cleaning is late.
    """
    deadline = time.monotonic() + patience
    while True:
        trouble: Exception | None = None
        try:
            if _scrubbed(connections, _STEP_SECONDS if patience else 0.0):
                return True
        except (AgentMemoryError, OSError) as error:
            trouble = error
        if time.monotonic() >= deadline:
            break
        time.sleep(0.02)
    if patience:
        _log.warning("what was forgotten is not gone from the disk yet: %s", trouble or "another process reads")
    return False


def _scrubbed(connections: Connections, seconds: float) -> bool:
    """First the file, then the log: what is written after the file was swept holds nothing old any more.

    While the write lock is held and all of the log is in the file, nobody changes the file. The commit that follows
    makes everybody read pages anew, and begins the log again, unless somebody still reads from it. If it did, what is
    left of the old log is beyond its end, where nobody reads and only the next writer writes.
    """
    path = Path(f"{connections.path}-wal")
    with connections.plain() as connection, waiting(connection, seconds):
        connection.execute("pragma wal_checkpoint(restart)")
    with connections.writing(durable=False, seconds=seconds) as connection:
        connection.execute("pragma shrink_memory")  # pages that it read before hold what is swept now
        if owed(connection) is None:  # somebody else paid meanwhile
            return True
        pages, moved = _moved(connections)
        if pages < 0 or pages != moved:
            return False
        before = log.header(path)
        roots = connection.execute(SQL["roots"]).fetchall()
        slack.sweep(connections.path, [1, *(root for (root,) in roots)])
        connection.execute(SQL["some_change"])
    with connections.writing(durable=False, seconds=seconds) as connection:
        pages, _ = _moved(connections)
        if pages < 0 or log.header(path) == before:
            return False
        log.overwrite(path, pages, cell(connection, "pragma page_size"))
        connection.execute(SQL["paid"])
    with connections.plain() as connection, waiting(connection, 0.0):
        connection.execute("pragma wal_checkpoint(truncate)")  # zeros by now; if not, it is no harm
    return True


def _moved(connections: Connections) -> tuple[int, int]:
    """How many pages the log holds, and how many of them are in the file, after moving what can be moved; -1 when
    somebody else is just doing that."""
    with connections.plain() as connection, waiting(connection, 0.0):
        busy, pages, moved = connection.execute("pragma wal_checkpoint(passive)").fetchone()
    return (-1, -1) if busy else (pages, moved)
