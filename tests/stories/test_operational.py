"""The operational tier: a ring of events for each scope, metrics, tasks under way, a snapshot. T1, T5, T10."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from datetime import timedelta
from pathlib import Path

import pytest
from tests.conftest import SteppingClock

from agent_memory import AgentMemory
from agent_memory.core.context.tokens import estimate
from agent_memory.models import Event, Goal
from agent_memory.models.errors import InvalidInput, NotFound, StoreError


def numbers(memory: AgentMemory, count: int = 10_000, category: str | None = None) -> list[int]:
    return [one.payload["n"] for one in memory.operational.get_recent(count, category)]


@pytest.mark.requirement("T1")
def test_the_newest_events_come_first_and_by_category(memory: AgentMemory) -> None:
    for number in range(6):
        memory.operational.push_event(Event(category="even" if number % 2 == 0 else "odd", payload={"n": number}))
    assert numbers(memory, 3) == [5, 4, 3] and numbers(memory, 10, "even") == [4, 2, 0]
    [last] = memory.operational.get_recent(1)
    assert (last.category, last.severity, last.is_critical(), last.id) == ("odd", "info", False, None)


@pytest.mark.local
@pytest.mark.requirement("T1")
def test_eight_threads_leave_exactly_the_newest_in_order(memory: AgentMemory) -> None:
    each, threads, order = 10_000, 8, deque[tuple[int, int]]()
    memory.operational.push_event(Event(category="c", payload={"thread": -1, "n": 0}))
    made = [[Event(category="c", payload={"thread": t, "n": n}) for n in range(each)] for t in range(threads)]

    def push(events: list[Event]) -> None:
        for one in events:
            memory.operational.push_event(one)

    running = [threading.Thread(target=push, args=(events,)) for events in made]
    for one in running:
        one.start()
    for one in running:
        one.join()
    order = [(one.payload["thread"], one.payload["n"]) for one in memory.operational.get_recent(each)]
    assert len(order) == len(set(order)) == each
    last = {t: [n for thread, n in order if thread == t] for t in range(threads)}
    for found in last.values():  # of each thread its newest, none missing, the newest first
        assert found == list(range(each - 1, each - 1 - len(found), -1))
    gone = [one.payload for one in memory.records.find(kinds=["summary"], limit=1000)]
    memory.close()
    with AgentMemory("ada", "c1") as later:
        assert [(one.payload["thread"], one.payload["n"]) for one in later.operational.get_recent(each)] == order
        told = later.records.find(kinds=["summary"], limit=1000)
        held = each + sum(one.payload["count"] for one in told)
        assert len(told) >= len(gone) and 0 <= each * threads + 1 - held <= 500  # of the block that is half in the ring
        for one in told:
            assert len(one.payload["samples"]) == min(5, one.payload["count"])
            assert one.payload["first"] <= one.payload["last"] and one.payload["operational"] == "c"


@pytest.mark.requirement("T1", "T10")
def test_what_overflows_leaves_a_summary_for_each_category(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_OPERATIONAL_EVENTS", "10")
    with AgentMemory("ada") as memory:
        for number in range(400):
            category = "net" if number % 4 else "disk"
            memory.operational.push_event(Event(category=category, payload={"n": number}))
        assert numbers(memory) == list(range(399, 389, -1))
    with AgentMemory("ada") as memory:
        found = memory.records.find(kinds=["summary"], limit=1000)
        counts = {category: sum(one.payload["count"] for one in found if one.payload["operational"] == category) for category in ("net", "disk")}  # fmt: skip  # noqa: E501
        kept = len(memory.operational.get_recent(10_000))
        assert kept == 10 and sum(counts.values()) >= 400 - 10 - 400 % 500 - 10
        assert counts["net"] >= counts["disk"]


@pytest.mark.requirement("T10")
def test_what_grows_old_leaves_a_summary(timed: AgentMemory, clock: SteppingClock) -> None:
    for number in range(7):
        timed.operational.push_event(Event(category="net", payload={"n": number}, time=clock.moment))
    timed.operational.update_metric("load", 0.5)
    clock.forward(hours=25)
    assert timed.operational.get_recent() == [] and timed.operational.get_metrics() == {}
    for number in range(200):  # somebody looks for what has to go
        timed.operational.push_event(Event(category="now", payload={"n": number}, time=clock.moment))
    [told] = timed.records.find(kinds=["summary"])
    assert (told.payload["operational"], told.payload["count"], len(told.payload["samples"])) == ("net", 7, 5)
    assert numbers(timed, 2) == [199, 198]


@pytest.mark.requirement("T1")
def test_a_critical_event_is_a_record_and_no_ring_loses_it(timed: AgentMemory, clock: SteppingClock) -> None:
    pushed = Event(category="disk", critical=True, payload={"message": "disk full"}, time=clock.moment)
    assert pushed.is_critical() and pushed.severity == "critical"
    timed.operational.push_event(pushed)
    [found] = timed.operational.get_recent(1)
    [record] = timed.records.find(kinds=["event"])
    assert (record.id, record.text, record.importance) == (found.id, "disk: disk full", 1.0)
    clock.forward(days=3)
    assert timed.operational.get_recent() == []
    assert "critical: disk: disk full" in timed.operational.get_system_snapshot()


def test_who_forgets_a_critical_event_forgets_it_in_the_ring(memory: AgentMemory) -> None:
    memory.operational.push_event(Event(category="a", payload={"n": 1}))
    memory.operational.push_event(Event(category="a", severity="critical", payload={"n": 2}))
    memory.operational.push_event(Event(category="a", payload={"n": 3}))
    [record] = memory.records.find(kinds=["event"])
    memory.records.forget([record.id])
    assert numbers(memory) == [3, 1] and "critical" not in memory.operational.get_system_snapshot()


@pytest.mark.requirement("T1")
def test_metrics_and_tasks(memory: AgentMemory) -> None:
    memory.operational.update_metric("load", 0.5)
    memory.operational.update_metric("load", 0.75)
    memory.operational.start_task("import", description="yesterday's orders")
    memory.operational.start_task("backup", "waiting")
    memory.operational.start_task("backup", "running")
    assert memory.operational.get_metrics() == {"load": 0.75}
    told = {one["name"]: (one["state"], one["description"]) for one in memory.operational.get_active_tasks()}
    assert told == {"import": ("running", "yesterday's orders"), "backup": ("running", None)}
    memory.operational.finish_task("import", "failed")
    assert [one["name"] for one in memory.operational.get_active_tasks()] == ["backup"]
    assert memory.operational.get_recent(1, "task")[0].payload == {"task": "import", "state": "failed"}
    with pytest.raises(NotFound) as missing:
        memory.operational.finish_task("import")
    assert missing.value.field == "name"


@pytest.mark.requirement("T1")
def test_the_snapshot_is_short_and_tells_the_worst_first(memory: AgentMemory) -> None:
    assert memory.operational.get_system_snapshot() == ""
    for number in range(30):
        memory.operational.push_event(Event(category="net", payload={"n": number, "text": "x" * 100}))
        memory.operational.update_metric(f"metric {number}", float(number))
    memory.operational.push_event(Event(category="net", severity="error", payload={"message": "no route"}))
    memory.operational.start_task("import")
    memory.operational.push_event(Event(category="disk", critical=True, payload={"message": "disk full"}))
    lines = memory.operational.get_system_snapshot().splitlines()
    assert lines[0].endswith("critical: disk: disk full") and lines[1].endswith("error: net: no route")
    assert lines[2] == "task import: running"
    assert "metric 29 = 29" in lines and estimate("\n".join(lines)) <= 500


@pytest.mark.requirement("T1", "T5")
def test_the_snapshot_is_the_first_chunk_of_a_context_that_asks_for_it(memory: AgentMemory) -> None:
    memory.add_goal(Goal(description="Keep the disk from filling up"))
    memory.set_working_context("note", "on the desk")
    memory.operational.push_event(Event(category="disk", critical=True, payload={"message": "disk full"}))
    context = memory.assemble_context("the disk is full")
    assert context.chunks[0].source == "operational" and "disk: disk full" in context.chunks[0].content
    assert context.text.count("disk full") == 1  # the record is not shown again
    assert any(chunk.kind == "goal" for chunk in context.chunks)
    without = memory.assemble_context("the disk is full", tiers=["working"])
    assert {chunk.source for chunk in without.chunks} == {"working"}
    tiny = memory.assemble_context("the disk is full", max_tokens=8)
    assert tiny.total_tokens <= 8


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"severity": "dreadful", "category": "c"}, "severity"),
        ({"category": ""}, "category"),
        ({}, "category"),
        ({"category": "c", "payload": {"load": float("nan")}}, "payload"),
        ({"category": "c", "time": "2026-01-01T00:00:00"}, "time"),
    ],
)
def test_bad_events_are_refused_and_the_field_is_named(
    memory: AgentMemory, wrong: dict[str, object], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.operational.push_event(wrong)
    assert refused.value.field.split(".")[-1] == field or f".{field}" in refused.value.field
    assert memory.operational.get_recent() == []


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "many", None])
def test_a_metric_is_a_number(memory: AgentMemory, value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.operational.update_metric("load", value)
    assert refused.value.field == "value" and memory.operational.get_metrics() == {}


@pytest.mark.local
def test_each_scope_has_a_ring_of_its_own(home: Path) -> None:
    def of(user: str, **more: str) -> AgentMemory:
        return AgentMemory(user, **more)

    with of("ada") as ada, of("bob") as bob, of("ada", tenant="other") as other, of("ada", agent="robot") as robot:
        for number, one in enumerate((ada, bob, other, robot)):
            one.operational.push_event(Event(category="c", payload={"n": number}))
            one.operational.update_metric("n", float(number))
        for number, one in enumerate((ada, bob, other, robot)):
            assert numbers(one) == [number] and one.operational.get_metrics() == {"n": float(number)}
        ada.tenants.erase("other")
        assert numbers(other) == [] and numbers(ada) == [0]


@pytest.mark.local
def test_a_closed_memory_takes_no_events(home: Path) -> None:
    memory = AgentMemory("ada")
    event = Event(category="c")
    memory.operational.push_event(event)
    memory.operational.push_event(event)
    memory.close()
    with pytest.raises(Exception, match="closed"):
        memory.operational.push_event(event)
    with AgentMemory("ada") as again:
        assert len(again.operational.get_recent()) == 2


ASKED = """
from agent_memory import AgentMemory
print([one.payload["n"] for one in AgentMemory("ada").operational.get_recent()])
"""


@pytest.mark.local
def test_pushes_reach_other_processes_and_their_conversations_desk_does_not_show_them(home: Path) -> None:
    with AgentMemory("ada", "c1") as memory:
        for number in range(3):
            memory.operational.push_event(Event(category="c", payload={"n": number}))
        for _ in range(50):
            ran = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, check=True)
            if ran.stdout.strip() == "[2, 1, 0]":
                break
            time.sleep(0.1)
        assert ran.stdout.strip() == "[2, 1, 0]"
        assert memory.get_working_context() == {"recent_turns": [], "thoughts": [], "active_goal": None}


LEFT_OPEN = """
from agent_memory import AgentMemory
from agent_memory.models import Event
memory = AgentMemory("ada")
memory.records.add("loads the embedder")
for number in range(150):
    memory.operational.push_event(Event(category="c", payload={"n": number}))
"""


@pytest.mark.local
def test_what_falls_out_as_a_process_ends_is_summarised(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody closed it: at the end the store is closed first, and the embedder that it needs for that after it."""
    monkeypatch.setenv("AGENT_MEMORY_OPERATIONAL_EVENTS", "100")
    ran = subprocess.run([sys.executable, "-c", LEFT_OPEN], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    with AgentMemory("ada") as memory:
        assert len(memory.operational.get_recent(200)) == 100
        assert sum(one.payload["count"] for one in memory.records.find(kinds=["summary"])) == 50


KILLED = """
import os, signal
from agent_memory import AgentMemory
from agent_memory.models import Event
memory = AgentMemory("ada")
memory.operational.push_event(Event(category="c"))
memory.operational.push_event(Event(category="disk", critical=True, payload={"message": "disk full"}))
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.local
@pytest.mark.requirement("T1")
def test_kill_9_loses_no_critical_event(home: Path) -> None:
    ran = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True)
    assert ran.returncode == -signal.SIGKILL, ran.stderr
    with AgentMemory("ada") as memory:
        [found] = memory.records.find(kinds=["event"])
        assert found.text == "disk: disk full" and memory.operational.get_recent(1)[0].id == found.id


@pytest.mark.local
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_fork_doubles_nothing(home: Path) -> None:
    with AgentMemory("ada") as memory:
        for number in range(3):
            memory.operational.push_event(Event(category="c", payload={"n": number}))
        child = os.fork()
        if child == 0:
            memory.operational.push_event(Event(category="c", payload={"n": 3}))
            told = 3 in numbers(memory)
            memory.close()
            os._exit(0 if told else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert sorted(numbers(memory)) == [0, 1, 2, 3]


@pytest.mark.local
@pytest.mark.requirement("T1")
def test_a_push_costs_a_few_appends(memory: AgentMemory) -> None:
    """At most ten times what an append to a `deque` takes, by the best of several rounds of both, side by side."""
    event, count = Event(category="c", payload={"n": 1}), 5_000
    memory.operational.push_event(event)
    push, append = memory.operational.push_event, deque[Event](maxlen=10_000).append

    def took(call: object) -> int:
        begun = time.perf_counter_ns()
        for _ in range(count):
            call(event)
        return time.perf_counter_ns() - begun

    rounds = [(took(append), took(push)) for _ in range(15)]
    assert min(push for _, push in rounds) <= 10 * min(append for append, _ in rounds)


@pytest.mark.local
def test_a_careful_push_leaves_the_quick_one_as_it_is(memory: AgentMemory) -> None:
    memory.operational.push_event(Event(category="c"))
    quick = memory.operational.push_event
    for _ in range(3):
        memory.operational.push_event(Event(category="disk", critical=True))
    assert memory.operational.push_event is quick


def test_hours_are_a_setting(home: Path, monkeypatch: pytest.MonkeyPatch, clock: SteppingClock) -> None:
    monkeypatch.setenv("AGENT_MEMORY_OPERATIONAL_HOURS", "1")
    with AgentMemory("ada", clock=clock) as memory:
        memory.operational.push_event(Event(category="c", payload={"n": 0}))
        clock.moment += timedelta(minutes=59)
        assert numbers(memory) == [0]
        clock.moment += timedelta(minutes=2)
        assert numbers(memory) == []


@pytest.mark.local
def test_what_cannot_be_written_now_waits_and_is_written_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with AgentMemory("ada") as memory:
        memory.operational.push_event(Event(category="c", payload={"n": 0}))
        for number in range(1, 1200):
            memory.operational.push_event(Event(category="c", payload={"n": number}))
        rings, store = memory._client.runtime.rings, memory._client.runtime.store.working
        whole, tries = type(store).set, [0]

        def away(self: object, *args: object, **named: object) -> None:
            tries[0] += 1
            if tries[0] == 2:  # of three blocks
                raise StoreError("away")
            whole(self, *args, **named)

        with monkeypatch.context() as failing:
            failing.setattr(type(store), "set", away)
            with contextlib.suppress(StoreError):  # unless the thread was faster, and met it
                rings.flush(memory._client.scope)
            assert numbers(memory) == list(range(1199, -1, -1))
        rings.flush(memory._client.scope)
        assert numbers(memory) == list(range(1199, -1, -1))
