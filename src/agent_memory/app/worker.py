"""The background jobs of a store in a program of one's own: for as long as it runs, or beside what it does. C11."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

from agent_memory.app import config
from agent_memory.app.jobs import FOLLOW
from agent_memory.app.service import Service
from agent_memory.core.upkeep.job import Job
from agent_memory.core.upkeep.runner import Observe
from agent_memory.models.errors import InvalidInput, StoreError


class ConsolidationWorker:
    """Runs the jobs of a store when they are due: `run()` until SIGTERM, Ctrl-C or `stop()`; or `with
    ConsolidationWorker():`, beside whatever the program does meanwhile. What is left when it stops, the next run does.

    `jobs` are the names of those to run; default: all. `observe` is told of every run that ended.
    """

    def __init__(
        self, *, store: str | Path | None = None, jobs: Sequence[str] = (), observe: Observe | None = None
    ) -> None:
        settings = config.load(store=None if store is None else str(store))
        check_own(settings.store_url)
        self._service = Service(settings, own=True)
        try:
            check_writable(self._service)
            self._runner = self._service.worker(chosen(self._service.jobs, jobs))
        except BaseException:
            self._service.close()
            raise
        if observe is not None:
            self._service.observe_job = observe
        self._stopping = threading.Event()

    def once(self) -> Mapping[str, Mapping[str, int]]:
        """Each job to its end, now; and what it did."""
        return self._runner.once()

    def run(self) -> None:
        """Until it is stopped; a job that is under way then stops at its next step, and the store is closed."""
        with self, self._until_told():
            self._stopping.wait()

    def stop(self) -> None:
        """From any thread, or a signal handler."""
        self._stopping.set()

    def close(self) -> None:
        self.stop()
        self._runner.stop()
        self._service.close()

    def __enter__(self) -> Self:
        self._runner.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _until_told(self) -> Iterator[None]:
        """Signals are the main thread's: in another one only `stop` ends it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def told(number: int, frame: FrameType | None) -> None:
            self.stop()

        before = {one: signal.signal(one, told) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def chosen(known: Sequence[Job], names: Sequence[str]) -> list[Job]:
    """The jobs of these names, in this order; without any, all."""
    jobs = {job.name: job for job in known}
    for name in names:
        if name == FOLLOW and name not in jobs:
            hint = "set AGENT_MEMORY_WORKPLACE to the folder of the repository"
            raise InvalidInput("job: follow has no repository to follow", hint=hint, field="job")
        if name not in jobs:
            raise InvalidInput(f"job: there is none named {name!r}", hint=f"they are {', '.join(jobs)}", field="job")
    return [jobs[name] for name in names or jobs]


def check_own(url: str) -> None:
    """`InvalidInput` where somebody else runs the jobs."""
    if url.startswith(("http://", "https://", "unix://")):
        raise InvalidInput(
            f"store: {url} is a server, which runs its jobs by itself",
            hint="`agent-memory upkeep run-jobs` runs them now; a worker needs the store itself",
            field="store",
        )


def check_writable(service: Service) -> None:
    if service.runtime.store.read_only:
        raise StoreError("the store is read-only: a worker has nothing to do", hint="`agent-memory doctor` says why")
