"""Leases and cursors of the `Feed` port, over the few rows that an engine reads and writes in one transaction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager

from agent_memory.ledger import feed
from agent_memory.ledger.feed import JobRow, WorkStanding
from agent_memory.ledger.rows import CursorRow
from agent_memory.ports import spans
from agent_memory.ports.feed import Cursor, JobOutcome, Lease, Work

_log = spans.log(__name__)


class Jobs(ABC):
    """What is stored of jobs, in a transaction."""

    @abstractmethod
    def now(self) -> int:
        """By the store's clock: those of the processes that take leases may differ."""

    @abstractmethod
    def job(self, name: str) -> JobRow | None: ...

    @abstractmethod
    def put(self, row: JobRow) -> None: ...

    @abstractmethod
    def drop(self, name: str) -> None: ...

    @abstractmethod
    def stored(self, name: str, tenant: str) -> Cursor:
        """Whether or not it stands; before all lines where there is none."""

    @abstractmethod
    def stands(self, cursor: Cursor) -> bool:
        """Whether this line, with this value of the chain, is in the tenant's journal. 0 is always there."""

    @abstractmethod
    def move(self, row: CursorRow) -> None:
        """Its tenant is served last from now on."""

    def cursor(self, name: str, tenant: str) -> Cursor:
        return self.beginning(self.stored(name, tenant))

    def beginning(self, cursor: Cursor) -> Cursor:
        """Where whoever has this cursor reads on."""
        return feed.standing(cursor, self.stands(cursor))

    def standing(self, work: Work) -> WorkStanding:
        """What counts for a piece of work."""
        job = self.job(work.lease.name)
        if work.to is None:
            return WorkStanding(job)
        return WorkStanding(job, self.cursor(work.lease.name, work.to.tenant), self.stands(work.to))

    def go_on(self, work: Work) -> None:
        """Check it and move its cursor, in the transaction that writes the rest of it."""
        feed.check(work, self.standing(work))
        if work.to is not None:
            self.move(CursorRow(work.lease.name, work.to))


class Leases(ABC):
    """A `Feed` without its lines."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Jobs]: ...

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Jobs]:
        """Need not be durable: what a power cut takes of it is done again."""

    def cursor(self, name: str, tenant: str) -> Cursor:
        with self._reading() as jobs:
            stored = jobs.stored(name, tenant)
            found = jobs.beginning(stored)
        if found != stored:
            _log.warning("the job %s starts anew: the journal that it read up to line %d is another", name, stored.seq)
        return found

    def lease(self, name: str, holder: str, seconds: float, *, every: float = 0.0) -> Lease | None:
        with self._writing() as jobs:
            row = feed.taken(jobs.job(name) or JobRow(name), holder, seconds, every, jobs.now())
            if row is None:
                return None
            jobs.put(row)
        return row.lease()

    def renew(self, lease: Lease, seconds: float) -> None:
        with self._writing() as jobs:
            jobs.put(feed.renewed(jobs.job(lease.name), lease, seconds, jobs.now()))

    def release(self, lease: Lease, run: JobOutcome | None = None, *, forget: bool = False) -> None:
        with self._writing() as jobs:
            row = jobs.job(lease.name)
            if row is None or not feed.holds(lease, row):
                return
            if forget:
                jobs.drop(lease.name)
            else:
                jobs.put(feed.released(row, run, jobs.now()))

    def advance(self, work: Work) -> None:
        with self._writing() as jobs:
            jobs.go_on(work)
