"""The feed: how jobs read the journal, how far each has come, and which worker may do a job.

A worker takes the lease of a job, reads the lines after the job's cursor, and hands in what it made of them as `Work`:
the engine checks lease and cursor, and moves the cursor, in the transaction that writes the result. So a job that is
killed anywhere resumes, and a worker whose lease went to another writes nothing any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from agent_memory.models.record import Scope


class Cursor(NamedTuple):
    """The last line of a tenant that a reader is done with, and the value of the chain at it; 0 is before all lines.
    Where that value is not at that line any more (a restore, a fail-over), the cursor does not stand: the reader
    starts anew."""

    tenant: str
    seq: int = 0
    chain: str = ""


class FeedLine(NamedTuple):
    """A line of the journal without a view. `kind` and `id` are those of the record that it is about, or that a link
    starts at; of one that was erased only the id is left, and some lines are about none."""

    seq: int
    at: int
    operation: str
    scope: Scope
    kind: str | None
    id: str | None
    chain: str

    @property
    def cursor(self) -> Cursor:
        """Of a reader that is done with this line."""
        return Cursor(self.scope.tenant, self.seq, self.chain)


class Lease(NamedTuple):
    """That `holder` alone does the job `name`. `token` is larger than that of every lease of this job before it."""

    name: str
    holder: str
    token: int


class Work(NamedTuple):
    """Under which lease something is written and, for a reader of the feed, which lines it was made from: those after
    `since`, up to and with `to`."""

    lease: Lease
    since: Cursor | None = None
    to: Cursor | None = None


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """What a run did, in numbers, or why it failed; and how many seconds it took."""

    seconds: float
    did: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class JobState:
    """What a store knows of a job: the last run that ended (at `ran_at`), the last failure (at `failed_at`), and who
    holds the lease until when: nobody, where it is over. Times are by the store's clock."""

    name: str
    holder: str | None = None
    until: int | None = None
    ran_at: int | None = None
    seconds: float | None = None
    did: Mapping[str, int] = field(default_factory=dict)
    failed_at: int | None = None
    error: str | None = None


class Feed(Protocol):
    """For jobs, which see every tenant: no operation of a caller reads it. It is on the records' engine, whose clock
    measures leases: those of the processes that take them may differ."""

    def news(self, name: str, *, limit: int = 100) -> list[str]:
        """Tenants that have lines past this reader's cursor, or whose cursor does not stand: the longest unserved
        first, so that a busy one keeps nobody waiting."""
        ...

    def lines(self, after: Cursor, *, limit: int = 100) -> list[FeedLine]:
        """Lines of the cursor's tenant in the order of their seq; from the first one on where it does not stand."""
        ...

    def cursor(self, name: str, tenant: str) -> Cursor:
        """How far this reader has come; before all lines where it has none, or where it does not stand any more."""
        ...

    def behind(self, name: str) -> int:
        """How many lines of all tenants are past this reader's cursors."""
        ...

    def lease(self, name: str, holder: str, seconds: float, *, every: float = 0.0) -> Lease | None:
        """For so many seconds; None while somebody holds it, or where the last run ended less than `every` seconds
        ago."""
        ...

    def renew(self, lease: Lease, seconds: float) -> None:
        """For so many seconds from now on; `LeaseLost` when another has taken it."""
        ...

    def release(self, lease: Lease, run: JobOutcome | None = None, *, forget: bool = False) -> None:
        """Let others have it, and note what came of the run. A lease that was lost is left as it is. `forget`: nothing
        is known of the job any more, and tokens begin anew: for one that is done once, and whose holders are random."""
        ...

    def advance(self, work: Work) -> None:
        """Move a cursor where nothing is to be written. `LeaseLost` when another has taken the lease, `Changed` when
        the cursor is not where the work began, or the line it leads to is not in the journal."""
        ...

    def states(self) -> list[JobState]:
        """Of every job that ever held a lease and was not forgotten, by name."""
        ...
