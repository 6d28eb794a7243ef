"""The `Feed` port on SQLite. All that share the file are on one machine, whose clock is read under the write lock."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from agent_memory.engines.sqlite.connection import Connections
from agent_memory.engines.sqlite.interning import Interning
from agent_memory.engines.sqlite.schema import check_version
from agent_memory.engines.sqlite.statements import SQL, cell
from agent_memory.ledger import feed as rules
from agent_memory.ledger.feed import JobRow, Standing
from agent_memory.ledger.journal import NAMES
from agent_memory.ledger.rows import CursorRow
from agent_memory.ledger.seals import sealed
from agent_memory.ports.feed import Cursor, FeedLine, JobState, Lease, Run, Work


class SqliteFeed:
    def __init__(self, connections: Connections, interning: Interning) -> None:
        self._connections = connections
        self._interning = interning

    def news(self, name: str, *, limit: int = 100) -> list[str]:
        with self._connections.reading() as connection:
            return [tenant for (tenant,) in connection.execute(SQL["news"], {"job": name, "limit": limit})]

    def lines(self, after: Cursor, *, limit: int = 100) -> list[FeedLine]:
        with self._connections.reading() as connection:
            seq = rules.standing(after, _stands(connection, after)).seq
            rows = connection.execute(SQL["feed_lines"], {"tenant": after.tenant, "after": seq, "limit": limit})
            return [
                FeedLine(seq, at, NAMES[operation], self._interning.scope(connection, scope), kind, id, chain.hex())
                for seq, at, operation, scope, kind, id, chain in rows.fetchall()
            ]

    def cursor(self, name: str, tenant: str) -> Cursor:
        with self._connections.reading() as connection:
            return _cursor(connection, name, tenant)

    def behind(self, name: str) -> int:
        with self._connections.reading() as connection:
            lines: int = cell(connection, SQL["behind"], {"job": name})
            return lines

    def lease(self, name: str, holder: str, seconds: float, *, every: float = 0.0) -> Lease | None:
        with self._changing() as connection:
            row = rules.taken(_job(connection, name) or JobRow(name), holder, seconds, every, _now())
            if row is None:
                return None
            connection.execute(SQL["put_job"], sealed(*row))
        return row.lease()

    def renew(self, lease: Lease, seconds: float) -> None:
        with self._changing() as connection:
            row = rules.renewed(_job(connection, lease.name), lease, seconds, _now())
            connection.execute(SQL["put_job"], sealed(*row))

    def release(self, lease: Lease, run: Run | None = None) -> None:
        with self._changing() as connection:
            row = _job(connection, lease.name)
            if row is not None and rules.holds(lease, row):
                connection.execute(SQL["put_job"], sealed(*rules.released(row, run, _now())))

    def advance(self, work: Work) -> None:
        with self._changing() as connection:
            go_on(connection, work)

    def states(self) -> list[JobState]:
        with self._connections.reading() as connection:
            return [JobRow(*row).state(_now()) for row in connection.execute(SQL["jobs"])]

    @contextmanager
    def _changing(self) -> Iterator[sqlite3.Connection]:
        """What a power cut takes of it is done again."""
        with self._connections.writing(durable=False) as connection:
            check_version(connection, self._connections.name)
            yield connection


def found(connection: sqlite3.Connection, work: Work) -> Standing:
    """What counts for a piece of work."""
    job = _job(connection, work.lease.name)
    if work.to is None:
        return Standing(job)
    return Standing(job, _cursor(connection, work.lease.name, work.to.tenant), _stands(connection, work.to))


def go_on(connection: sqlite3.Connection, work: Work) -> None:
    """Check it and move its cursor, in the transaction that writes the rest of it."""
    rules.check(work, found(connection, work))
    if work.to is not None:
        move(connection, [CursorRow(work.lease.name, work.to)])


def move(connection: sqlite3.Connection, rows: Iterable[CursorRow]) -> None:
    for job, cursor in rows:
        turn = cell(connection, SQL["next_turn"], (job,))
        connection.execute(SQL["put_cursor"], sealed(job, cursor.tenant, cursor.seq, cursor.chain, turn))


def hush(connection: sqlite3.Connection, text: str) -> None:
    """Keep no error in which this stands."""
    for row in connection.execute(SQL["jobs_saying"], (text,)).fetchall():
        connection.execute(SQL["put_job"], sealed(*row, None))


def _now() -> int:
    return time.time_ns() // 1000


def _job(connection: sqlite3.Connection, name: str) -> JobRow | None:
    row = connection.execute(SQL["job"], (name,)).fetchone()
    return None if row is None else JobRow(*row)


def _cursor(connection: sqlite3.Connection, name: str, tenant: str) -> Cursor:
    cursor = Cursor(tenant, *(connection.execute(SQL["cursor"], (name, tenant)).fetchone() or ()))
    return rules.standing(cursor, _stands(connection, cursor))


def _stands(connection: sqlite3.Connection, cursor: Cursor) -> bool:
    return cursor.seq == 0 or cell(connection, SQL["chain_at"], (cursor.seq, cursor.tenant)) == cursor.chain
