"""Jobs: what a store needs done now and then, and nobody asks for. `serve` runs them in a thread beside its answers.

A job remembers nothing but what the store holds: it does what is left to do, in whichever process, and a run that is
stopped, fails or meets another on the same store loses and doubles nothing. Add one to `JOBS`, and it is run by the
server, on demand and in `/metrics`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from agent_memory.app.wiring import Runtime
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.moment import to_micros
from agent_memory.ports import spans
from agent_memory.ports.abandon import Abandoned, Call
from agent_memory.ports.clock import Clock
from agent_memory.ports.records import View

SLICE_SECONDS = 1.0  # of work in one go, beside whoever asks something
Did = dict[str, int]
_log = spans.log(__name__)


@dataclass(frozen=True)
class Job:
    """`run` gets the runtime, the moment, and how many seconds it may take (None: as many as it needs); it says what it
    did, in numbers. It is run every `seconds`; where `more` says that some of it is left, again sooner."""

    name: str
    seconds: float
    run: Callable[[Runtime, int, float | None], Did]
    more: Callable[[Did], bool] = lambda did: False


def catch_up(runtime: Runtime, now: int, seconds: float | None, view: View | None = None) -> Did:
    """Make the vectors that bulk writes and embedders out of reach left for later, in all of the store or a view. A
    store that lacks none is not asked to agree with this embedder: nobody used it yet."""
    before = left = runtime.store.index.pending(runtime.embedding.space, view)
    if before:
        with spans.span("job.catch_up"):
            runtime.embedding.agree()
            left = runtime.embedding.catch_up(view, seconds=seconds, now=now)
    return {"vectors": before - left, "pending_vectors": left}


def retention(runtime: Runtime, now: int, seconds: float | None) -> Did:
    """Let receipts go whose time is over, also where no new one comes."""
    with spans.span("job.retention"):
        return {"receipts": runtime.store.receipts.expire(now)}


def scrub(runtime: Runtime, now: int, seconds: float | None) -> Did:
    """Take from the disk what was forgotten while somebody read, and from places outside what was forgotten while they
    were away, also where nobody writes any more."""
    scrubbed = runtime.store.scrub(seconds is None)
    return {"owed": int(not (runtime.debts.pay() and scrubbed))}


JOBS = (
    Job("catch_up", 5.0, catch_up, more=lambda did: did["vectors"] > 0 and did["pending_vectors"] > 0),
    Job("retention", 3600.0, retention),
    Job("scrub", 10.0, scrub),
)


def run_all(runtime: Runtime, now: int, jobs: Sequence[Job] = JOBS) -> dict[str, Did]:
    """Each job once, to its end; what each did. The first that fails is an error."""
    return {job.name: job.run(runtime, now, None) for job in jobs}


Observe = Callable[[str, bool, float], None]
"""Is told of every run: the job, whether it came to its end, and how many seconds it took."""


class Worker:
    """One thread that runs jobs when they are due, one at a time. `stop` it before the runtime is let go of."""

    def __init__(
        self,
        runtime: Runtime,
        clock: Clock,
        jobs: Sequence[Job] = JOBS,
        observe: Observe = lambda name, done, seconds: None,
    ) -> None:
        self._runtime = runtime
        self._clock = clock
        self._jobs = jobs
        self._observe = observe
        self._due = dict.fromkeys((job.name for job in jobs), 0.0)
        self._trouble: dict[str, str] = {}
        self._stopping = threading.Event()
        self._call = Call()
        self._thread = threading.Thread(target=self._work, name="agent-memory-jobs", daemon=True)

    def start(self) -> None:
        if not self._runtime.store.read_only:
            self._thread.start()

    def stop(self, seconds: float = 10.0) -> bool:
        """A job that is under way stops at its next step; whether it did within so many seconds."""
        self._stopping.set()
        self._call.abandon()
        if self._thread.is_alive():
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> None:
        while not self._stopping.is_set():
            job = min(self._jobs, key=lambda one: self._due[one.name])
            if not self._stopping.wait(max(0.0, self._due[job.name] - time.monotonic())):
                self._run(job)

    def _run(self, job: Job) -> None:
        begun = time.monotonic()
        rest, done = job.seconds, False
        try:
            now = to_micros(self._clock.now())
            did = self._call.run(lambda: job.run(self._runtime, now, SLICE_SECONDS))
            done = True
            self._trouble.pop(job.name, None)
            if job.more(did):
                rest = time.monotonic() - begun  # as long as it worked, so that whoever asks has the other half
        except Abandoned:
            return
        except AgentMemoryError as error:
            self._fails(job, str(error))
        except Exception as error:  # noqa: BLE001 - the worker goes on, whatever a job does
            self._fails(job, repr(error), trace=True)
        self._due[job.name] = time.monotonic() + rest
        self._observe(job.name, done, time.monotonic() - begun)

    def _fails(self, job: Job, why: str, *, trace: bool = False) -> None:
        """Said once, and not at every attempt."""
        if self._trouble.get(job.name) != why:
            self._trouble[job.name] = why
            _log.warning("the job %s failed, and will be tried again: %s", job.name, why, exc_info=trace)
