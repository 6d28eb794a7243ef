"""The `Feed` port on PostgreSQL. Leases are measured by the database's clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from agent_memory.engines.postgres.connection import Database, PostgresSession
from agent_memory.ledger.feed import JobRow
from agent_memory.ledger.jobs import Jobs, Leases
from agent_memory.ledger.journal import NAMES
from agent_memory.ledger.rows import CursorRow
from agent_memory.models.record import Scope
from agent_memory.ports.feed import Cursor, FeedLine, JobState


class PostgresJobs(Jobs):
    """`changing`: nobody else takes or works on a job that was looked at before this transaction has ended."""

    def __init__(self, session: PostgresSession, *, changing: bool = True) -> None:
        self.session = session
        self._changing = changing

    def now(self) -> int:
        now: int = self.session.cell("clock")
        return now

    def job(self, name: str) -> JobRow | None:
        if self._changing:
            self.session.send("lock_job", {"name": name})
        row = self.session.row("job", {"name": name})
        return None if row is None else JobRow(*row)

    def put(self, row: JobRow) -> None:
        self.session.send("put_job", row)

    def drop(self, name: str) -> None:
        self.session.send("drop_job", {"name": name})

    def stored(self, name: str, tenant: str) -> Cursor:
        return Cursor(tenant, *(self.session.row("cursor", {"job": name, "tenant": tenant}) or ()))

    def stands(self, cursor: Cursor) -> bool:
        asked = {"tenant": cursor.tenant, "seq": cursor.seq}
        return cursor.seq == 0 or (self.session.cell("chain_at", asked) or b"").hex() == cursor.chain

    def move(self, row: CursorRow) -> None:
        job, (tenant, seq, chain) = row.job, (row.cursor.tenant, row.cursor.seq, row.cursor.chain)
        self.session.send("put_cursor", {"job": job, "tenant": tenant, "seq": seq, "chain": chain})


class PostgresFeed(Leases):
    def __init__(self, database: Database) -> None:
        self._database = database

    def news(self, name: str, *, limit: int = 100) -> list[str]:
        with self._database.reading(None) as session:
            return [tenant for (tenant,) in session.rows("news", {"job": name, "limit": limit})]

    def lines(self, after: Cursor, *, limit: int = 100) -> list[FeedLine]:
        with self._reading() as jobs:
            asked = {"tenant": after.tenant, "after": jobs.beginning(after).seq, "limit": limit}
            return [
                FeedLine(
                    *(seq, at, NAMES[operation], Scope(tenant=after.tenant, user=user, agent=agent)),
                    *(kind, id, chain.hex()),
                )
                for seq, at, operation, user, agent, kind, id, chain in jobs.session.rows("feed_lines", asked)
            ]

    def behind(self, name: str) -> int:
        with self._database.reading(None) as session:
            lines: int = session.cell("behind", {"job": name})
            return lines

    def states(self) -> list[JobState]:
        with self._reading() as jobs:
            rows, now = jobs.session.send("all_jobs"), jobs.now()
            return [JobRow(*row).state(now) for row in rows.fetchall()]

    @contextmanager
    def _reading(self) -> Iterator[PostgresJobs]:
        with self._database.reading(None) as session:
            yield PostgresJobs(session, changing=False)

    @contextmanager
    def _writing(self) -> Iterator[PostgresJobs]:
        with self._database.writing(None, durable=False) as session:
            yield PostgresJobs(session)
