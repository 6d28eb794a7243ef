"""The `ReadingLog` port on SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from agent_memory.engines.sqlite.connection import BRIEF_SECONDS, Connections
from agent_memory.engines.sqlite.expiry import believed
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.reading import cells, naming, restored
from agent_memory.ledger.seals import checksum, sealed
from agent_memory.ports.reading import ReadLine, ReadsWanted
from agent_memory.ports.receipts import RETENTION


class SqliteReading:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def keep(self, lines: Sequence[ReadLine], *, durable: bool = False) -> None:
        if self._connections.read_only or not lines:
            return
        with self._connections.writing(durable=durable, seconds=BRIEF_SECONDS) as connection:
            there = {one for one in {line.tenant for line in lines} if cell(connection, SQL["tenant"], (one,))}
            kept = [_told(connection, line) for line in lines if line.tenant in there]
            last = cell(connection, SQL["last_read"])
            rows = [sealed(number, *cells(line)) for number, line in enumerate(kept, last + 1)]
            connection.executemany(SQL["insert_read"], rows)
            _expire(connection, max(line.at for line in lines))

    def lines(self, tenant: str, wanted: ReadsWanted, limit: int) -> list[ReadLine]:
        asked = {**wanted._asdict(), "tenant": tenant, "limit": limit}
        with self._connections.reading() as connection:
            return [restored(row) for row in connection.execute(SQL["reads"], asked).fetchall()]


def forget(connection: sqlite3.Connection, tenant: str, ids: Iterable[str]) -> None:
    """Take the reasons from lines that name one of these records."""
    for number in naming(connection.execute(SQL["reads_explained"], (tenant,)).fetchall(), ids):
        row = connection.execute(SQL["read_row"], (number,)).fetchone()
        connection.execute(SQL["forget_why"], (checksum(*row), number))


def _told(connection: sqlite3.Connection, line: ReadLine) -> ReadLine:
    """As it may be kept: a record that it names may be forgotten meanwhile."""
    if line.why is not None and not all(cell(connection, SQL["known_id"], (id,)) for id in line.ids):
        return line._replace(why=None)
    return line


def _expire(connection: sqlite3.Connection, now: int) -> None:
    oldest = cell(connection, SQL["oldest_read"])
    if oldest is not None and oldest < now - RETENTION and believed(connection, now, RETENTION):
        connection.execute(SQL["expire_reads"], (now - RETENTION,))
