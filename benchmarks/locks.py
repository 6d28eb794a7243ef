"""How long each background job keeps other writers out: its longest write transaction, after BEGIN and up to COMMIT.

    .venv/bin/python benchmarks/locks.py [--records 3000]

A store gets so many memories (some of them told twice), turns, entities, facts, decisions, goals and outcomes, and
receipts, all of long ago. Then every job runs to its end on six days: two, then two a month later, and two more, since
what was pruned is removed after a month, by a clock that was seen before. `CPU ms` is what this process worked during
the longest one; the rest of its time is the disk, and whoever else uses the machine. Vectors come from a table.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from merging import Table, texts
from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

from agent_memory import AgentMemory
from agent_memory.core.upkeep.jobs import JOBS
from agent_memory.core.upkeep.runner import Runner
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.models import Entity, Fact
from agent_memory.models.kinds.decisions import Decision
from agent_memory.models.kinds.operational import Event

PAGE = 500
DAYS = (1, 100, 1, 40, 1, 40, 1)  # from one run to the next


class At:
    """A clock that is moved by hand."""

    moment = datetime(2026, 3, 2, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


class Held(NamedTuple):
    """One write transaction, in milliseconds."""

    wall: float
    cpu: float


class Locks:
    """What every write transaction of this process takes, from here on."""

    def __init__(self) -> None:
        self.held: list[Held] = []
        writing = Connections.writing

        @contextmanager
        def timed(connections: Connections, **how: Any) -> Iterator[Any]:
            begun = (0.0, 0.0)
            with writing(connections, **how) as connection:
                begun = time.perf_counter(), time.thread_time()
                yield connection
            wall, cpu = time.perf_counter() - begun[0], time.thread_time() - begun[1]
            self.held.append(Held(wall * 1e3, cpu * 1e3))

        Connections.writing = timed  # type: ignore[method-assign,assignment]


def fill(memory: AgentMemory, count: int) -> None:
    said, then = texts(count), At.moment
    for at in range(0, count, PAGE):
        some = range(at, min(at + PAGE, count))
        memory.records.add_many([{"text": said[number], "importance": (number % 10) / 10} for number in some])
    for number in range(count // 10):
        moment = then + timedelta(minutes=number)
        talk = f"talk-{number // 20}"
        memory.episodic.append(talk, "user", f"Ada {number} works at Shop {number % 50}. I prefer tea {number}.")
        memory.upsert_entity(Entity(name=f"Person {number}", type="Person", salience=0.05 + number % 9 / 10))
        claim = f"Person {number} likes tea number {number}"
        memory.semantic.store_fact(Fact(claim=claim, source="inferred", confidence=0.8, created_at=moment))
        memory.state.log_decision(Decision(decision=f"Use part {number} for the pump", decided_at=moment))
        memory.reflect({"success": number % 3 > 0, "task_type": f"deploy {number % 7}", "tools_used": ["helm"]})
        told = Event(category="deploy", payload={"what": f"pump {number}"}, severity="critical", time=moment)
        memory.operational.push_event(told)
        memory.recall(f"Who is person {number}?")
    remarks = [{"text": f"passing remark {number} about the weather", "importance": 0.05} for number in range(count)]
    for at in range(0, count, PAGE):  # these have no vectors yet
        memory.records.add_many(remarks[at : at + PAGE])


def measured(memory: AgentMemory, clock: At, locks: Locks) -> None:
    did: dict[str, Counter[str]] = {job.name: Counter() for job in JOBS}
    held: dict[str, list[Held]] = {job.name: [] for job in JOBS}
    keeping = memory._client.runtime.keeping(clock)
    for days in DAYS:
        clock.moment += timedelta(days=days)
        for job in JOBS:
            locks.held.clear()
            for name, count in Runner(keeping, [job]).once()[job.name].items():
                did[job.name][name] += count
            held[job.name] += locks.held
    print("| job | what it did | writes | over 50 ms | longest: ms | its CPU ms | longest by CPU: ms |")
    print("|---|---|---|---|---|---|---|")
    for name, found in held.items():
        longest, worked = max(found), max(one.cpu for one in found)
        told = ", ".join(f"{count:,} {what}" for what, count in did[name].items() if count) or "nothing"
        late = sum(one.wall > 50 for one in found)
        print(
            f"| `{name}` | {told} | {len(found)} | {late} | {longest.wall:.1f} | {longest.cpu:.1f} | {worked:.1f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--records", type=int, default=3000)
    asked = parser.parse_args()
    clock, locks = At(), Locks()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "m.db"
        with AgentMemory("ada", "c1", store=store, clock=clock, embedder=Table()) as memory:
            fill(memory, at_most(asked.records, 100))
            measured(memory, clock, locks)


if __name__ == "__main__":
    sys.exit(main())
