"""The `Feed` port on PostgreSQL. Leases are measured by the database's clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from agent_memory.engines.postgres.connection import Database, Session
from agent_memory.ledger import feed as rules
from agent_memory.ledger.feed import JobRow, Standing
from agent_memory.ledger.journal import NAMES
from agent_memory.ledger.rows import CursorRow
from agent_memory.models.record import Scope
from agent_memory.ports.feed import Cursor, FeedLine, JobState, Lease, Run, Work


class PostgresFeed:
    def __init__(self, database: Database) -> None:
        self._database = database

    def news(self, name: str, *, limit: int = 100) -> list[str]:
        with self._database.reading(None) as session:
            return [tenant for (tenant,) in session.rows("news", {"job": name, "limit": limit})]

    def lines(self, after: Cursor, *, limit: int = 100) -> list[FeedLine]:
        with self._database.reading(after.tenant) as session:
            seq = rules.standing(after, _stands(session, after)).seq
            return [
                FeedLine(
                    seq, at, NAMES[operation], Scope(tenant=after.tenant, user=user, agent=agent), kind, id, chain.hex()
                )
                for seq, at, operation, user, agent, kind, id, chain in session.rows(
                    "feed_lines", {"after": seq, "limit": limit}
                )
            ]

    def cursor(self, name: str, tenant: str) -> Cursor:
        with self._database.reading(tenant) as session:
            return _cursor(session, name, tenant)

    def behind(self, name: str) -> int:
        with self._database.reading(None) as session:
            lines: int = session.cell("behind", {"job": name})
            return lines

    def lease(self, name: str, holder: str, seconds: float, *, every: float = 0.0) -> Lease | None:
        with self._changing(name) as session:
            row = rules.taken(_job(session, name) or JobRow(name), holder, seconds, every, _now(session))
            if row is None:
                return None
            session.send("put_job", row)
        return row.lease()

    def renew(self, lease: Lease, seconds: float) -> None:
        with self._changing(lease.name) as session:
            session.send("put_job", rules.renewed(_job(session, lease.name), lease, seconds, _now(session)))

    def release(self, lease: Lease, run: Run | None = None) -> None:
        with self._changing(lease.name) as session:
            row = _job(session, lease.name)
            if row is not None and rules.holds(lease, row):
                session.send("put_job", rules.released(row, run, _now(session)))

    def advance(self, work: Work) -> None:
        with self._database.writing(None if work.to is None else work.to.tenant, durable=False) as session:
            rules.check(work, found(session, work))
            if work.to is not None:
                move(session, [CursorRow(work.lease.name, work.to)])

    def states(self) -> list[JobState]:
        with self._database.reading(None) as session:
            rows = session.send("all_jobs")
            now = _now(session)
            return [JobRow(*row).state(now) for row in rows.fetchall()]

    @contextmanager
    def _changing(self, name: str) -> Iterator[Session]:
        """What a power cut takes of it is done again."""
        with self._database.writing(None, durable=False) as session:
            session.send("lock_job", {"name": name})
            yield session


def found(session: Session, work: Work) -> Standing:
    """What counts for a piece of work; nobody takes its lease before this transaction has ended."""
    session.send("lock_job", {"name": work.lease.name})
    job = _job(session, work.lease.name)
    if work.to is None:
        return Standing(job)
    return Standing(job, _cursor(session, work.lease.name, work.to.tenant), _stands(session, work.to))


def move(session: Session, rows: Iterable[CursorRow]) -> None:
    for job, cursor in rows:
        session.send("put_cursor", {"job": job, "seq": cursor.seq, "chain": cursor.chain})


def _now(session: Session) -> int:
    now: int = session.cell("clock")
    return now


def _job(session: Session, name: str) -> JobRow | None:
    row = session.row("job", {"name": name})
    return None if row is None else JobRow(*row)


def _cursor(session: Session, name: str, tenant: str) -> Cursor:
    cursor = Cursor(tenant, *(session.row("cursor", {"job": name}) or ()))
    return rules.standing(cursor, _stands(session, cursor))


def _stands(session: Session, cursor: Cursor) -> bool:
    return cursor.seq == 0 or (session.cell("chain_at", {"seq": cursor.seq}) or b"").hex() == cursor.chain
