"""Forgetting for real: no row, no index entry, no page image in the log keeps what was erased."""

from __future__ import annotations

import hashlib
import sqlite3
import time

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.journal import ERASE, Ledger

SCRUB_SECONDS = 5.0

_BY_CONTENT = ("words", "fields", "pending", "contents")


def erase(connection: sqlite3.Connection, ledger: Ledger, record: int, scope: int, id: str) -> None:
    """Delete everything of one record. Its journal lines stay: they hold numbers and salted digests, and the
    salt goes now. The tombstone keeps the id, so that an import cannot bring it back unnoticed."""
    sql = "select distinct content from versions where id = ? and scope = ?"
    contents = connection.execute(sql, (id, scope)).fetchall()
    for table in _BY_CONTENT:
        connection.executemany(f"delete from {table} where content = ?", contents)
    connection.executemany(
        "delete from vectors where scope = ? and space in (select space from spaces) and content = ?",
        [(scope, content) for (content,) in contents],
    )
    connection.execute("delete from versions where id = ? and scope = ?", (id, scope))
    connection.execute("delete from links where source = ? or target = ?", (record, record))
    connection.execute("delete from accesses where record = ?", (record,))
    receipts = connection.execute("select receipt from shown where record = ?", (record,)).fetchall()
    for table in ("receipts", "shown"):
        connection.executemany(f"delete from {table} where receipt = ?", receipts)
    connection.execute(
        "delete from lists where scope = ? and json_valid(value) and json_extract(value, '$.id') = ?",
        (scope, id),
    )
    connection.execute(
        "delete from working where scope = ? and json_valid(value) and json_type(value) = 'object' "
        "and json_extract(value, '$.id') = ?",
        (scope, id),
    )
    seq = ledger.append(ERASE, scope, record, None, hashlib.sha256(id.encode()).digest())
    connection.execute("insert into tombstones (record, id, scope, seq) values (?, ?, ?, ?)", (record, id, scope, seq))


def collect(connection: sqlite3.Connection) -> None:
    """Names of conversations and repositories that nothing refers to any more."""
    connection.execute(
        "delete from labels where not exists (select 1 from versions v where v.conversation = labels.label) "
        "and not exists (select 1 from versions v where v.repository = labels.label)"
    )


def scrub(connections: Connections) -> bool:
    """The write-ahead log still holds old page images: move it into the file and cut it to nothing.
    A reader of another process may stand in the way; then its end, or the next write, does it."""
    deadline = time.monotonic() + SCRUB_SECONDS
    with connections.plain() as connection:
        connection.execute("pragma busy_timeout = 200")
        try:
            while connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0] != 0:
                if time.monotonic() > deadline:
                    return False
                time.sleep(0.02)
        finally:
            connection.execute(f"pragma busy_timeout = {30_000}")
    return True
