"""The `Feed` port on SQLite. All that share the file are on one machine, whose clock is read under the write lock."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger.feed import JobRow
from agent_memory.ledger.jobs import Jobs, Leases
from agent_memory.ledger.journal import NAMES
from agent_memory.ledger.rows import CursorRow
from agent_memory.ledger.seals import sealed
from agent_memory.ports.feed import Cursor, FeedLine, JobState


class SqliteJobs(Jobs):
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def now(self) -> int:
        return time.time_ns() // 1000

    def job(self, name: str) -> JobRow | None:
        row = self.connection.execute(SQL["job"], (name,)).fetchone()
        return None if row is None else JobRow(*row)

    def put(self, row: JobRow) -> None:
        self.connection.execute(SQL["put_job"], sealed(*row))

    def drop(self, name: str) -> None:
        self.connection.execute(SQL["drop_job"], (name,))

    def stored(self, name: str, tenant: str) -> Cursor:
        return Cursor(tenant, *(self.connection.execute(SQL["cursor"], (name, tenant)).fetchone() or ()))

    def stands(self, cursor: Cursor) -> bool:
        return cursor.seq == 0 or cell(self.connection, SQL["chain_at"], (cursor.seq, cursor.tenant)) == cursor.chain

    def move(self, row: CursorRow) -> None:
        job, (tenant, seq, chain) = row.job, (row.cursor.tenant, row.cursor.seq, row.cursor.chain)
        turn = cell(self.connection, SQL["next_turn"], (job,))
        self.connection.execute(SQL["put_cursor"], sealed(job, tenant, seq, chain, turn))


class SqliteFeed(Leases):
    def __init__(self, connections: Connections, interning: Interning) -> None:
        self._connections = connections
        self._interning = interning

    def news(self, name: str, *, limit: int = 100) -> list[str]:
        with self._connections.reading() as connection:
            return [tenant for (tenant,) in connection.execute(SQL["news"], {"job": name, "limit": limit})]

    def lines(self, after: Cursor, *, limit: int = 100) -> list[FeedLine]:
        with self._reading() as jobs:
            asked = {"tenant": after.tenant, "after": jobs.beginning(after).seq, "limit": limit}
            scope_of = partial(self._interning.scope, jobs.connection)
            return [
                FeedLine(seq, at, NAMES[operation], scope_of(scope), kind, id, chain.hex())
                for seq, at, operation, scope, kind, id, chain in jobs.connection.execute(SQL["feed_lines"], asked)
            ]

    def behind(self, name: str) -> int:
        with self._connections.reading() as connection:
            lines: int = cell(connection, SQL["behind"], {"job": name})
            return lines

    def states(self) -> list[JobState]:
        with self._reading() as jobs:
            return [JobRow(*row).state(jobs.now()) for row in jobs.connection.execute(SQL["jobs"])]

    @contextmanager
    def _reading(self) -> Iterator[SqliteJobs]:
        with self._connections.reading() as connection:
            yield SqliteJobs(connection)

    @contextmanager
    def _writing(self) -> Iterator[SqliteJobs]:
        with self._connections.writing(durable=False) as connection:
            check_version(connection, self._connections.name)
            yield SqliteJobs(connection)


def hush(connection: sqlite3.Connection, text: str) -> None:
    """Keep no error in which this stands."""
    for row in connection.execute(SQL["jobs_saying"], (text,)).fetchall():
        connection.execute(SQL["put_job"], sealed(*row, None))
