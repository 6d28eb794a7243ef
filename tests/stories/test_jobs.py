"""Background jobs: what a store needs done now and then, by a worker that nothing ends but its owner."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AgentMemory, CPUMemoryEngine, MemoryConsolidationService
from agent_memory.core.upkeep.job import Job, JobTurn, Keeping
from agent_memory.core.upkeep.jobs import JOBS
from agent_memory.core.upkeep.runner import Runner
from agent_memory.models.errors import InvalidInput, NotFound, PartMissing, StoreError
from agent_memory.ports.clock import SystemClock
from agent_memory.ports.embedder import Passage, Space
from agent_memory.ports.feed import JobOutcome
from patience import PATIENCE, until, until_then


class Counting:
    """An embedder that counts what it reads, and may be held up or out of reach."""

    space = Space("counting", "1", 4)

    def __init__(self) -> None:
        self.away = False
        self.held_after: int | None = None  # so many texts; the next waits until this is lifted
        self.read: list[str] = []

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.away:
            raise PartMissing("nobody answers")
        until(lambda: self.held_after is None or len(self.read) < self.held_after)
        self.read += texts
        return np.full((len(texts), 4), 0.5, np.float32)


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
def stored(embedder: Counting) -> Iterator[AgentMemory]:
    """A store whose bulk writes left their vectors for later."""
    with AgentMemory("ada", embedder=embedder) as memory:
        memory.records.add_many([{"text": f"note {number}"} for number in range(40)])
        assert pending(memory) == 40
        yield memory


def pending(memory: AgentMemory) -> int:
    left: int = memory.upkeep.stats()["pending_vectors"]
    return left


def worker(memory: AgentMemory, jobs: Sequence[Job] = JOBS, **more: object) -> Runner:
    return Runner(memory._client.runtime.keeping(SystemClock()), jobs, **more)  # type: ignore[arg-type]


def every(seconds: float) -> list[Job]:
    """The jobs of today, more often."""
    return [job._replace(seconds=seconds) for job in JOBS]


def test_what_is_pending_is_embedded_and_nothing_twice(stored: AgentMemory, embedder: Counting) -> None:
    two = [worker(stored), worker(stored)]  # as of two servers
    for one in two:
        one.start()
    until(lambda: pending(stored) == 0)
    assert all(one.stop() for one in two)
    assert stored.upkeep.stats()["vectors"] == 40 and stored.upkeep.verify().ok
    read = len(embedder.read)
    ran: list[str] = []
    again = worker(stored, every(0.01), observe=lambda name, run: ran.append(name))
    again.start()
    until(lambda: ran.count("retention") > 5)
    assert again.stop() and len(embedder.read) == read
    assert "catch_up" not in ran, "nothing was left, and so nothing was done, nor written"


def test_it_stops_within_its_time_and_the_next_goes_on(stored: AgentMemory, embedder: Counting) -> None:
    embedder.held_after = 3
    first = worker(stored)
    first.start()
    until(lambda: len(embedder.read) >= 3)
    stopping = threading.Thread(target=lambda: stopped.append(first.stop(PATIENCE)))
    stopped: list[bool] = []
    stopping.start()
    until(lambda: first._call.abandoned)
    embedder.held_after = None
    stopping.join(PATIENCE)
    assert stopped == [True]
    left = pending(stored)
    assert 0 < left < 40, "what was made is kept, and the rest is left"
    second = worker(stored, every(0.01))
    second.start()
    until(lambda: pending(stored) == 0)
    assert second.stop() and len(embedder.read) <= 41  # the one that was under way may be read again


def test_a_job_that_fails_is_nobody_elses_trouble(stored: AgentMemory, caplog: pytest.LogCaptureFixture) -> None:
    ran: list[str] = []
    told: list[tuple[str, str | None]] = []

    def works(keeping: Keeping, turn: JobTurn) -> dict[str, int]:
        ran.append("works")
        return {}

    def breaks(keeping: Keeping, turn: JobTurn) -> dict[str, int]:
        ran.append("breaks")
        raise ZeroDivisionError

    jobs = (Job("breaks", 0.01, breaks), Job("works", 0.01, works))
    running = worker(stored, jobs, observe=lambda name, run: told.append((name, run.error)))
    with caplog.at_level(logging.WARNING):
        running.start()
        until(lambda: ran.count("works") >= 5 and ran.count("breaks") >= 5)
        assert running.stop()
    assert set(told) == {("works", None), ("breaks", "ZeroDivisionError")}
    (line,) = caplog.records
    assert "breaks failed" in line.getMessage() and "ZeroDivisionError" in line.getMessage()


@pytest.mark.parametrize("looking", [True, False], ids=["when it looks", "when it runs"])
def test_a_job_that_works_again_says_so_once(
    stored: AgentMemory, caplog: pytest.LogCaptureFixture, looking: bool
) -> None:
    tries: list[str] = []

    def left(keeping: Keeping) -> int:
        if looking and len(tries) < 3:
            tries.append("looks")
            raise StoreError("out of reach")
        return 0 if looking else 1

    def run(keeping: Keeping, turn: JobTurn) -> dict[str, int]:
        tries.append("runs")
        if len(tries) < 3:
            raise StoreError("out of reach")
        return {}

    running = worker(stored, [Job("shaky", 0.01, run, left=left)])
    with caplog.at_level(logging.WARNING):
        running.start()
        until(lambda: len(caplog.records) >= 2)
        assert running.stop()
    assert [line.getMessage() for line in caplog.records] == [
        "the job shaky failed, and will be tried again: out of reach",
        "the job shaky works again",
    ]


def test_jobs_run_one_at_a_time_and_one_that_has_more_to_do_does_not_starve_the_rest(stored: AgentMemory) -> None:
    inside = threading.Semaphore(1)
    ran: list[str] = []

    def job(name: str) -> Callable[..., dict[str, int]]:
        def run(keeping: Keeping, turn: JobTurn) -> dict[str, int]:
            assert inside.acquire(blocking=False)
            ran.append(name)
            time.sleep(0.01)
            inside.release()
            return {}

        return run

    running = worker(stored, (Job("busy", 60, job("busy"), more=lambda did: True), Job("other", 0.02, job("other"))))
    running.start()
    until(lambda: ran.count("busy") >= 5 and ran.count("other") >= 5)
    assert running.stop()


def test_an_embedder_out_of_reach_is_waited_for(stored: AgentMemory, embedder: Counting) -> None:
    embedder.away = True
    told: list[JobOutcome] = []
    running = worker(stored, every(0.01), observe=lambda name, run: told.append(run))
    running.start()
    until(lambda: len(told) > 10)
    assert pending(stored) == 40
    embedder.away = False
    until(lambda: pending(stored) == 0)
    assert running.stop()


def test_receipts_go_when_their_time_is_over(clock: object) -> None:
    with AgentMemory("ada", clock=clock) as memory:  # type: ignore[arg-type]
        memory.records.add("the pager went off")
        receipt = memory.recall("pager").receipt_id
        assert memory.upkeep.run_jobs()["retention"] == {"receipts": 0}
        memory.receipts.get(receipt)
        clock.moment += timedelta(days=50)  # type: ignore[attr-defined]
        memory.receipts.get(memory.recall("pager").receipt_id)
        clock.moment += timedelta(days=41)  # type: ignore[attr-defined]
        assert memory.upkeep.run_jobs()["retention"] == {"receipts": 1}
        with pytest.raises(NotFound):
            memory.receipts.get(receipt)


def test_a_clock_ten_years_ahead_deletes_nothing(clock: object) -> None:
    """Whoever writes on that day is dated by it, and so is what comes later; nothing that was there goes."""
    with AgentMemory("ada", clock=clock) as memory:  # type: ignore[arg-type]
        kept = memory.records.add("the pager went off", idempotency_key="message 1")
        receipt = memory.recall("pager").receipt_id
        memory.receipts.get(receipt)
        right = clock.moment  # type: ignore[attr-defined]
        for _ in range(3):
            clock.moment += timedelta(days=3653)  # type: ignore[attr-defined]
            memory.recall("pager")
            memory.records.add("another", idempotency_key=f"message of {clock.moment}")  # type: ignore[attr-defined]
            assert memory.upkeep.run_jobs()["retention"] == {"receipts": 0}
        clock.moment = right  # type: ignore[attr-defined]
        memory.receipts.get(receipt)
        assert memory.records.add("the pager went off", idempotency_key="message 1").id == kept.id


def test_a_store_that_can_only_be_read_is_left_alone(stored: AgentMemory) -> None:
    runtime = stored._client.runtime
    object.__setattr__(runtime.store, "read_only", True)
    running = worker(stored)
    running.start()
    assert running.stop() and pending(stored) == 40
    object.__setattr__(runtime.store, "read_only", False)


@pytest.mark.requirement("E8")
def test_the_consolidation_loop_runs_the_same_jobs() -> None:
    async def story(engine: CPUMemoryEngine) -> None:
        engine.memory.records.add_many([{"text": f"note {number}"} for number in range(5)])
        loop = asyncio.create_task(MemoryConsolidationService(engine).run_consolidation_loop())
        await until_then(lambda: not pending(engine.memory))
        assert not loop.done()
        loop.cancel()
        with pytest.raises(asyncio.CancelledError):
            await loop
        assert not [one for one in threading.enumerate() if one.name == "agent-memory-jobs"]

    with CPUMemoryEngine() as engine:
        asyncio.run(story(engine))


def test_a_job_that_follows_the_journal_says_how_far_it_has_come(stored: AgentMemory) -> None:
    def cursors() -> dict[str, int | None]:
        return {one.name: one.cursor for one in stored.upkeep.jobs()}

    assert set(cursors().values()) == {None}
    stored.records.add("The deploy is at noon")
    stored.upkeep.run_jobs()
    first = cursors()
    assert first["patterns"] == stored.records.journal()[-1].seq
    assert first["scrub"] is None
    stored.records.add("The deploy is at one")
    assert cursors() == first
    stored.upkeep.run_jobs()
    assert cursors()["patterns"] == stored.records.journal()[-1].seq


def test_the_jobs_of_a_server_are_its_own(serving: Callable[..., object]) -> None:
    with serving() as url, CPUMemoryEngine(store=url) as engine:  # type: ignore[attr-defined]
        with pytest.raises(StoreError, match="needs a store in this process"):
            asyncio.run(MemoryConsolidationService(engine).run_consolidation_loop())
        assert engine.memory.upkeep.run_jobs()["catch_up"] == {"vectors": 0, "pending_vectors": 0}
        with pytest.raises(InvalidInput):
            engine.memory.upkeep.run_jobs(now=True)  # type: ignore[call-arg]


def test_an_empty_store_is_not_bound_to_the_embedder_of_whoever_serves_it(embedder: Counting) -> None:
    with AgentMemory("ada", embedder=embedder) as memory:
        assert memory.upkeep.run_jobs()["catch_up"] == {"vectors": 0, "pending_vectors": 0}
        assert memory._client.runtime.store.index.space() is None
