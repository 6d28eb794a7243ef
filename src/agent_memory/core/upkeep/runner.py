"""Runs jobs: in a thread of a server, in a process of its own, or once, when somebody asks.

Each run is under the lease of its job, so that workers share: whichever comes first when it is due does it, and the
others pass over it. What came of it is noted in the store when the lease is given back.
"""

from __future__ import annotations

import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from agent_memory.core.upkeep.job import Did, Job, JobTurn, Keeping
from agent_memory.core.upkeep.jobs import JOBS
from agent_memory.models.errors import (
    AgentMemoryError,
    BudgetExceeded,
    Conflict,
    LeaseLost,
    PartMissing,
    SpaceMismatch,
    StoreError,
)
from agent_memory.models.moment import to_micros
from agent_memory.ports import spans
from agent_memory.ports.abandon import AbandonableCall, Abandoned
from agent_memory.ports.feed import JobOutcome, Lease
from agent_memory.ports.spending import Spender, SpendingAs

SLICE_SECONDS = 1.0  # of work in one go, beside whoever asks something
LEASE_SECONDS = 15.0  # after which another worker may do the job of one that is gone; renewed while it works
DUE = 0.9  # of its time: whoever wakes up a little early does not sleep through the next turn, too
LONGEST_ERROR = 500  # characters of it that are kept
_log = spans.log(__name__)

Observe = Callable[[str, JobOutcome], None]
"""Is told of every run that ended: the job, and what came of it."""


class Runner:
    """Runs jobs when they are due, one at a time, from `start` on until `stop`; or all of them `once`. Stop it before
    the store is closed."""

    def __init__(
        self,
        keeping: Keeping,
        jobs: Sequence[Job] = JOBS,
        observe: Observe = lambda name, run: None,
        lease_seconds: float = LEASE_SECONDS,
    ) -> None:
        self._keeping = keeping
        self._jobs = jobs
        self._observe = observe
        self._lease_seconds = lease_seconds
        self._due = dict.fromkeys((job.name for job in jobs), 0.0)
        self._unfinished: set[str] = set()
        self._trouble: dict[str, str] = {}
        self._stopping = threading.Event()
        self._call = AbandonableCall()
        self._thread = threading.Thread(target=self._work, name="agent-memory-jobs", daemon=True)
        self.holder = f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"

    def start(self) -> None:
        if not self._keeping.store.read_only:
            self._thread.start()

    def stop(self, seconds: float = 10.0) -> bool:
        """A job that is under way stops at its next step; whether it did within so many seconds."""
        self._stopping.set()
        self._call.abandon()
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def once(self) -> dict[str, Did]:
        """Each job to its end, now, and what it did. All are run; then the first that failed is an error."""
        did: dict[str, Did] = {}
        failed: list[Exception] = []
        for job in self._jobs:
            try:
                did[job.name] = self._run(job, self._waited_for(job), None)
            except Abandoned:
                raise
            except Exception as error:  # noqa: BLE001 - one job that fails stops no other
                failed.append(error)
        if failed:
            raise failed[0]
        return did

    def _waited_for(self, job: Job) -> Lease:
        """Another worker may just be doing it: for a slice, or, if it is gone, for as long as its lease."""
        deadline = time.monotonic() + self._lease_seconds
        while (lease := self._leased(job)) is None:
            if time.monotonic() > deadline:
                raise Conflict(f"{job.name}: another worker is doing it", hint="`agent-memory jobs` says which")
            self._stopping.wait(0.2)
            self._call.check()
        return lease

    def _leased(self, job: Job, every: float = 0.0) -> Lease | None:
        return self._keeping.store.feed.lease(job.leased, self.holder, self._lease_seconds, every=every)

    def _work(self) -> None:
        while not self._stopping.is_set():
            job = min(self._jobs, key=lambda one: self._due[one.name])
            if not self._stopping.wait(max(0.0, self._due[job.name] - time.monotonic())):
                self._due[job.name] = time.monotonic() + self._slice(job)

    def _slice(self, job: Job) -> float:
        """Do a slice of it, if it is due and nobody else does; after how many seconds to look again."""
        begun, every = time.monotonic(), 0.0 if job.name in self._unfinished else job.seconds * DUE
        self._unfinished.discard(job.name)
        try:
            wanted = job.left is None or job.left(self._keeping) > 0
            lease = self._leased(job, every) if wanted else None
            did: Did = self._run(job, lease, SLICE_SECONDS) if lease is not None else {}
            looked = lease is not None or not wanted  # else somebody else does it, or it is not due
            if looked and self._trouble.pop(job.name, ""):
                _log.warning("the job %s works again", job.name)
            if lease is not None and job.more(did):
                self._unfinished.add(job.name)
                return time.monotonic() - begun  # as long as it worked, so that whoever asks has the other half
        except Abandoned:
            pass
        except Exception as error:  # noqa: BLE001 - the worker goes on, whatever a job or the store does
            self._fails(job, error)
        return job.seconds

    def _run(self, job: Job, lease: Lease, seconds: float | None) -> Did:
        begun, feed = time.monotonic(), self._keeping.store.feed
        turn = JobTurn(lease, to_micros(self._keeping.clock.now()), seconds)

        def end(**came: Any) -> None:
            run = JobOutcome(time.monotonic() - begun, **came)
            feed.release(lease, run)
            self._observe(job.name, run)

        with spans.span(f"job.{job.name}"), SpendingAs(Spender(operation=f"jobs.{job.name}")):
            try:
                with self._renewing(lease):
                    did = self._call.run(lambda: job.run(self._keeping, turn))
            except Abandoned:
                feed.release(lease)
                raise
            except Exception as error:
                end(error=str(error)[:LONGEST_ERROR] if _foreseen(error) else type(error).__name__)
                raise
            end(did=did)
            return did

    @contextmanager
    def _renewing(self, lease: Lease) -> Iterator[None]:
        """A slow step loses no lease. A process that is stopped, or killed, renews nothing."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self._lease_seconds / 3):
                try:
                    self._keeping.store.feed.renew(lease, self._lease_seconds)
                except LeaseLost:  # what the job writes next tells it
                    return
                except AgentMemoryError:  # the store is busy, perhaps: the lease is good for another while
                    continue

        thread = threading.Thread(target=renew, name="agent-memory-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join(1.0)  # one that waits for the store finds the lease given back

    def _fails(self, job: Job, error: Exception) -> None:
        """Logged once, and not at every attempt."""
        why = str(error) if _foreseen(error) else repr(error)
        if self._trouble.get(job.name) != why:
            self._trouble[job.name] = why
            unforeseen = None if _foreseen(error) else error
            _log.warning("the job %s failed, and will be tried again: %s", job.name, why, exc_info=unforeseen)


def _foreseen(error: Exception) -> bool:
    """Others may quote a memory: of these only the name is kept in the store, and the log has the rest."""
    return isinstance(error, StoreError | PartMissing | SpaceMismatch | LeaseLost | BudgetExceeded)
