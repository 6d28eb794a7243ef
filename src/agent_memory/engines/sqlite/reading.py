"""The `ReadingLog` port on SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence

from agent_memory.engines.sqlite.connection import BRIEF_SECONDS, Connections
from agent_memory.engines.sqlite.expiry import believed
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger import reading
from agent_memory.ledger.seals import sealed, sealed_again
from agent_memory.ports.reading import ReadLine, ReadsWanted
from agent_memory.ports.receipts import RETENTION


class SqliteReading:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def keep(self, lines: Sequence[ReadLine], *, durable: bool = False) -> None:
        if self._connections.read_only or not lines:
            return
        with self._connections.writing(durable=durable, seconds=BRIEF_SECONDS) as connection:
            check_version(connection, self._connections.name)
            for tenant, theirs in reading.by_tenant(lines).items():
                if cell(connection, SQL["tenant"], (tenant,)) is not None:
                    _add(connection, theirs)
            _expire(connection, max([line.at for line in lines]))

    def lines(self, tenant: str, wanted: ReadsWanted, limit: int) -> list[ReadLine]:
        asked = {**reading.sought(wanted), "tenant": tenant}
        with self._connections.reading() as connection:
            texts = (text for (text,) in connection.execute(SQL["reads"], asked))
            return reading.found(texts, wanted, limit)


def forget(connection: sqlite3.Connection, tenant: str, ids: Collection[str]) -> None:
    """Take the reasons from lines that name one of these records."""
    asked = (tenant, json.dumps(reading.spelled(ids)))
    for row in connection.execute(SQL["reads_explained"], asked).fetchall():
        *kept, _, text, _ = row
        connection.execute(SQL["put_reads"], sealed_again(row, *kept, *reading.forgotten(text, ids)))


def _add(connection: sqlite3.Connection, lines: Sequence[ReadLine]) -> None:
    """As they may be kept: a record that one names may be forgotten meanwhile."""
    gone = [id for id in reading.reasoned(lines) if not cell(connection, SQL["known_id"], (id,))]
    last = cell(connection, SQL["last_read"])
    kept = reading.pages(reading.without_reasons(lines, gone))
    connection.executemany(SQL["put_reads"], [sealed(number, *page) for number, page in enumerate(kept, last + 1)])


def _expire(connection: sqlite3.Connection, now: int) -> None:
    oldest = cell(connection, SQL["oldest_read"])
    if oldest is not None and oldest < now - RETENTION and believed(connection, now, RETENTION):
        connection.execute(SQL["expire_reads"], (now - RETENTION,))
