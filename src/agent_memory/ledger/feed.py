"""Who may do a job, and how far it has come: the rules of leases and cursors, pure and the same for every engine.

A write is judged by the lease's token and holder, never by the time: a lease that is over and that nobody took is still
the last one. So a clock that jumps can at most give a job to another too early, whose token then shuts out the first.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from agent_memory.models.errors import Changed, LeaseLost
from agent_memory.ports.feed import Cursor, JobOutcome, JobState, Lease, Work

MICROS = 1_000_000


class JobRow(NamedTuple):
    """What is stored of a job. Held from `since` to `until`, unless `holder` is None."""

    name: str
    token: int = 0
    holder: str | None = None
    since: int = 0
    until: int = 0
    ran_at: int | None = None
    seconds: float | None = None
    did: str = "{}"
    failed_at: int | None = None
    error: str | None = None

    def held(self, now: int) -> bool:
        """A moment that has not come yet is of a clock that was ahead: it binds nobody."""
        return self.holder is not None and self.since <= now < self.until

    def state(self, now: int) -> JobState:
        return JobState(
            self.name,
            self.holder if self.held(now) else None,
            self.until if self.held(now) else None,
            self.ran_at,
            self.seconds,
            json.loads(self.did),
            self.failed_at,
            self.error,
        )

    def lease(self) -> Lease:
        return Lease(self.name, self.holder or "", self.token)


class WorkStanding(NamedTuple):
    """What an engine found for a piece of work, under its write lock: the row of its job, its cursor where that
    stands, and whether the line that it leads to is there."""

    job: JobRow | None
    cursor: Cursor | None = None
    there: bool = True


def taken(row: JobRow, holder: str, seconds: float, every: float, now: int) -> JobRow | None:
    """None: somebody holds it, or it is too early."""
    if row.held(now):
        return None
    if row.ran_at is not None and row.ran_at <= now < row.ran_at + every * MICROS:
        return None
    return row._replace(token=row.token + 1, holder=holder, since=now, until=now + round(seconds * MICROS))


def renewed(row: JobRow | None, lease: Lease, seconds: float, now: int) -> JobRow:
    return _held(lease, row)._replace(since=now, until=now + round(seconds * MICROS))


def released(row: JobRow, run: JobOutcome | None, now: int) -> JobRow:
    free = row._replace(holder=None, until=now)
    if run is None:
        return free
    done = free._replace(ran_at=now, seconds=run.seconds, did=json.dumps(dict(run.did)))
    return done if run.error is None else done._replace(failed_at=now, error=run.error)


def holds(lease: Lease, row: JobRow | None) -> bool:
    return row is not None and row.holder is not None and row.lease() == lease


def check(work: Work, found: WorkStanding) -> None:
    """Before anything is written: whoever lost the lease, or read another journal, writes nothing."""
    _held(work.lease, found.job)
    if work.to is not None and not (found.there and found.cursor == work.since):
        raise Changed(
            f"the job {work.lease.name} is not at the line of {work.to.tenant!r} any more that this work began after",
            hint="read its cursor and the lines after it again",
        )


def _held(lease: Lease, row: JobRow | None) -> JobRow:
    if row is None or not holds(lease, row):
        raise LeaseLost(
            f"the lease of the job {lease.name} went to another worker; nothing was written",
            hint="it does the work now",
        )
    return row


def standing(cursor: Cursor, stands: bool) -> Cursor:
    """A cursor as it counts: one that does not stand begins anew."""
    return cursor if stands else cursor._replace(seq=0, chain="")
