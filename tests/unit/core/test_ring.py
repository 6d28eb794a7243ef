"""A ring against a plain list, through pushes, looks, forks and time that passes: what is in it, and what left it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agent_memory import AgentMemory
from agent_memory.core.experience.ring import BLOCK, PLACE, RingBounds, Rings
from agent_memory.models import Event
from agent_memory.models.record import Scope
from agent_memory.ports.working import Desk

HOLDS, HOURS = 7, 2.0
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ADA = Scope(user="ada")


class Standing:
    def __init__(self) -> None:
        self.moment = START

    def now(self) -> datetime:
        return self.moment


class RingMachine(RuleBasedStateMachine):
    """Two processes push into one ring. The model is a list of (number, when it was written), and who has left it."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = AgentMemory("ada", store="memory://")
        runtime = self.memory._client.runtime
        self.clock = Standing()
        bounds = RingBounds(HOLDS, HOURS)
        self.rings = [Rings(lambda: runtime.store.working, lambda: runtime.writing, bounds) for _ in range(2)]
        for one in self.rings:
            one._begin = lambda: None  # type: ignore[method-assign] # time passes when the test says so
        self.written: list[tuple[int, datetime]] = []
        self.number = 0

    def now(self) -> int:
        return int(self.clock.moment.timestamp() * 1_000_000)

    @rule(process=st.integers(0, 1), count=st.integers(1, 5), category=st.sampled_from("ab"))
    def push(self, process: int, count: int, category: str) -> None:
        waiting = self.rings[process].waiting(ADA, self.clock)
        for _ in range(count):
            self.number += 1
            waiting.append(Event(category=category, payload={"n": self.number}, time=self.clock.moment))
            self.written.append((self.number, self.clock.moment))
        self.rings[process].flush(ADA)
        self.clock.moment += timedelta(microseconds=10)  # what two processes write in one microsecond has no order

    @rule(process=st.integers(0, 1))
    def look(self, process: int) -> None:
        self.rings[process].waiting(ADA, self.clock)
        self.rings[process].look(ADA)

    @rule(minutes=st.integers(1, 150))
    def wait(self, minutes: int) -> None:
        self.clock.moment += timedelta(minutes=minutes)

    @rule()
    def fork(self) -> None:
        self.rings[1].after_fork()

    @invariant()
    def both_see_the_newest_in_order(self) -> None:
        oldest = self.clock.moment - timedelta(hours=HOURS)
        young = [number for number, at in self.written if at > oldest]
        for one in self.rings:
            found = [event.payload["n"] for event in one.events(ADA, self.now())]
            assert found == young[::-1][:HOLDS]

    @invariant()
    def what_left_was_summarised_once(self) -> None:
        told = self.memory.records.find(kinds=["summary"], limit=1000)
        samples = [event["payload"]["n"] for one in told for event in one.payload["samples"]]
        assert len(samples) == len(set(samples)) and all(len(one.payload["samples"]) <= 5 for one in told)
        counted = sum(one.payload["count"] for one in told)
        values = self.memory._client.runtime.store.working.values
        held = sum(len(json.loads(text)) for text in values(Desk(ADA, PLACE), now=self.now()).values())
        assert counted + held == self.number and held < HOLDS + 400 + BLOCK

    def teardown(self) -> None:
        self.memory.close()


TestRing = RingMachine.TestCase
TestRing.settings = settings(max_examples=25, stateful_step_count=30)
