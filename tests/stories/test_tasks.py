"""Tasks: a DAG whose ready nodes are claimed under leases, reported on, tried again and cancelled."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.core.work import edges
from agent_memory.core.write.commit import commit
from agent_memory.interfaces.cli.exits import guarded
from agent_memory.ledger import request
from agent_memory.models import Draft, Goal, Kind, Task
from agent_memory.models.errors import Conflict, InvalidInput, LeaseLost, NotFound
from agent_memory.models.kinds.kind import LONGEST_PAYLOAD
from agent_memory.models.model import new_id
from agent_memory.ports.feed import Lease

pytestmark = pytest.mark.requirement("P7", "T2")
SHORT = 0.05


@pytest.fixture
def memory() -> AgentMemory:
    with AgentMemory("ada") as client:
        yield client


def names(tasks: list[Task]) -> list[str]:
    return [task.description for task in tasks]


def written(memory: AgentMemory) -> int:
    return memory.upkeep.verify().seq


def test_what_is_ready_comes_in_order(memory: AgentMemory) -> None:
    low = memory.tasks.add("low", priority=1)
    high = memory.tasks.add("high", priority=5)
    memory.tasks.add("usual")
    memory.tasks.add("after both", depends_on=[low.id, high.id], priority=5)
    assert names(memory.tasks.ready()) == ["high", "usual", "low"]
    assert names(memory.tasks.ready(limit=1)) == ["high"]
    task, token = memory.tasks.claim("w1")
    assert task.description == "high" and task.status == "running" and task.worker == "w1"
    assert memory.tasks.finish(token, {"rows": 3}).outcome == {"rows": 3}
    assert names(memory.tasks.ready()) == ["usual", "low"]
    for _ in range(2):
        memory.tasks.finish(memory.tasks.claim("w1").token)
    assert names(memory.tasks.ready()) == ["after both"]
    memory.tasks.finish(memory.tasks.claim("w1").token)
    assert tuple(memory.tasks.claim("w1")) == (None, None)
    assert [one.status for one in memory.tasks.list()] == ["done"] * 4


def test_a_claim_is_held_until_its_lease_is_over(memory: AgentMemory) -> None:
    added = memory.tasks.add("deploy")
    task, token = memory.tasks.claim("w1", lease_seconds=SHORT)
    assert memory.tasks.ready() == []
    while (second := memory.tasks.claim("w2")).task is None:
        time.sleep(SHORT)
    assert second.task.id == task.id == added.id and second.task.attempts == 2 and second.task.lost == 1
    assert second.task.reasons == ["w1 was not heard of for 0.05 seconds"]
    before = written(memory)
    for report in (memory.tasks.finish, memory.tasks.heartbeat, lambda one: memory.tasks.fail(one, "why")):
        with pytest.raises(LeaseLost, match=f"the lease of task '{task.id}' is over"):
            report(token)
    assert written(memory) == before
    memory.tasks.finish(second.token, "done")
    with pytest.raises(LeaseLost):
        memory.tasks.finish(token, "late")


def test_a_heartbeat_keeps_the_claim_and_tells_how_far_it_is(memory: AgentMemory) -> None:
    added = memory.tasks.add("copy")
    token = memory.tasks.claim("w1", lease_seconds=5).token
    before = written(memory)
    beat = memory.tasks.heartbeat(token)
    assert not beat.cancel and beat.lease_seconds == 5 and written(memory) == before
    memory.tasks.heartbeat(token, progress={"percent": 40})
    assert memory.tasks.get(added.id).progress == {"percent": 40}
    assert memory.tasks.claim("w2").task is None
    assert memory.tasks.finish(token, "ok").progress == {"percent": 40}
    assert memory.tasks.finish(token, "ok").status == "done"  # an answer that was lost is asked for again
    with pytest.raises(Conflict, match="is done and cannot be reported on"):
        memory.tasks.finish(token, "another outcome")


def test_a_cancelled_task_is_told_to_its_worker(memory: AgentMemory) -> None:
    added = memory.tasks.add("copy")
    after = memory.tasks.add("check", depends_on=[added.id])
    token = memory.tasks.claim("w1").token
    assert memory.tasks.cancel(added.id).status == "cancelled"
    assert memory.tasks.heartbeat(token, progress=1).cancel
    with pytest.raises(Conflict, match="is cancelled and cannot be reported on"):
        memory.tasks.finish(token)
    assert memory.tasks.cancel(added.id).status == "cancelled"
    assert memory.tasks.ready() == [] and memory.tasks.get(after.id).status == "pending"
    assert memory.tasks.retry(added.id).status == "ready"
    memory.tasks.finish(memory.tasks.claim("w2").token)
    assert memory.tasks.get(after.id).status == "ready"
    with pytest.raises(Conflict, match="is done and cannot become cancelled"):
        memory.tasks.cancel(added.id)


def test_failures_wait_longer_each_time_and_the_last_one_stays(clock: object) -> None:
    with AgentMemory("ada", clock=clock) as memory:
        memory.tasks.add(Task(description="flaky", max_attempts=3, retry_seconds=10))
        for number, wait in ((1, 10), (2, 20)):
            task = memory.tasks.fail(memory.tasks.claim("w").token, f"no answer {number}")
            assert task.status == "ready" and (task.not_before - clock.now()).total_seconds() == wait
            clock.forward(seconds=wait - 1)
            assert memory.tasks.claim("w").task is None and memory.tasks.ready() == []
            clock.forward(seconds=1)
            assert names(memory.tasks.ready()) == ["flaky"]
        task = memory.tasks.fail(memory.tasks.claim("w").token, "no answer 3")
        assert task.status == "failed" and task.reasons == ["no answer 1", "no answer 2", "no answer 3"]
        clock.forward(days=9)
        assert memory.tasks.claim("w").task is None
        again = memory.tasks.retry(task.id)
        assert again.status == "ready" and again.reasons == []
        memory.tasks.finish(memory.tasks.claim("w").token)


def test_a_clock_that_goes_back_keeps_nobody_waiting(clock: object) -> None:
    with AgentMemory("ada", clock=clock) as memory:
        memory.tasks.add(Task(description="flaky", retry_seconds=3600))
        memory.tasks.fail(memory.tasks.claim("w").token, "no answer")
        memory.tasks.add("other")
        clock.forward(days=-30)
        done = [memory.tasks.finish(memory.tasks.claim("w").token).description for _ in range(2)]
        assert sorted(done) == ["flaky", "other"]


def test_workers_that_vanish_again_and_again_end_it(memory: AgentMemory) -> None:
    added = memory.tasks.add("poison")
    while memory.tasks.get(added.id).status != "failed":
        memory.tasks.claim("w", lease_seconds=0.001)
        time.sleep(0.002)
    task = memory.tasks.get(added.id)
    assert task.lost == len(task.reasons) == 10 and memory.tasks.claim("w").task is None


def test_no_circles_and_nothing_written(memory: AgentMemory) -> None:
    first = memory.tasks.add("first")
    second = memory.tasks.add("second", depends_on=[first.id])
    third = memory.tasks.add("third", depends_on=[second.id])
    before = written(memory)
    circle = f"depends_on: this would close a circle: {first.id} → {third.id} → {second.id} → {first.id}"
    with pytest.raises(InvalidInput, match=circle):
        memory.tasks.add(Task(id=first.id, description="first", depends_on=[third.id]))
    with pytest.raises(NotFound, match="depends_on: no task 'nobody'"):
        memory.tasks.add("fourth", depends_on=["nobody"])
    with pytest.raises(InvalidInput, match="priority"):
        memory.tasks.add("fifth", priority=9)
    with pytest.raises(InvalidInput, match="a task runs when it is claimed"):
        memory.tasks.add(Task(description="sixth", status="running"))
    with pytest.raises(InvalidInput, match="lease_seconds"):
        memory.tasks.claim("w", lease_seconds=0)
    for token in ("", "x", "1.2", f"-1.x.{first.id}", f"{'9' * 40}.x.{first.id}"):
        with pytest.raises(InvalidInput, match="token"):
            memory.tasks.finish(token)
    with pytest.raises(LeaseLost):
        memory.tasks.finish(f"7.forged.{first.id}")
    assert written(memory) == before


def test_a_task_that_waits_can_be_changed(memory: AgentMemory) -> None:
    first = memory.tasks.add("first")
    second = memory.tasks.add("second", depends_on=[first.id])
    changed = memory.tasks.add(Task(id=second.id, description="second", depends_on=[], priority=5))
    assert changed.status == "ready" and memory.records.links(second.id) == []
    task, token = memory.tasks.claim("w")
    assert task.id == second.id
    with pytest.raises(Conflict, match="is running: only one that waits can be changed"):
        memory.tasks.add(Task(id=second.id, description="other"))
    memory.tasks.finish(token)


def test_workers_at_once_share_the_work(memory: AgentMemory) -> None:
    ids = [memory.tasks.add(f"task {number}").id for number in range(20)]
    done: list[str] = []

    def work(name: str) -> None:
        while (claimed := memory.tasks.claim(name)).task:
            done.append(claimed.task.id)
            memory.tasks.finish(claimed.token, name)

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == sorted(ids)
    assert all(len(memory.records.history(id)) == 3 for id in ids)  # added, running, done


def test_what_waits_for_a_task_of_the_user_is_found_by_an_agent(memory: AgentMemory) -> None:
    shared = memory.tasks.add("of the user")
    with AgentMemory("ada", agent="robot") as robot:
        own = robot.tasks.add("of the robot", depends_on=[shared.id])
        assert own.status == "pending"
        memory.tasks.finish(memory.tasks.claim("w").token)
        assert names(robot.tasks.ready()) == ["of the robot"]
        robot.tasks.finish(robot.tasks.claim("w").token)
    assert memory.tasks.claim("w").task is None


def test_a_task_leaves_room_for_what_its_workers_report(memory: AgentMemory) -> None:
    with pytest.raises(InvalidInput, match=r"task: .* characters of JSON; the limit is"):
        memory.tasks.add("heavy", input={"x": "e" * (LONGEST_PAYLOAD - 1000)})
    heavy = memory.tasks.add(Task(description="heavy", input={"x": "e" * 499_000}, max_attempts=20, retry_seconds=0))
    for number in range(19):
        token = memory.tasks.claim("w" * 500).token
        memory.tasks.heartbeat(token, progress="p" * 90_000)
        memory.tasks.fail(token, f"{number} " + "\x01" * 900_000)
    told = memory.tasks.get(heavy.id)
    assert told.failures == 19 and [one.split()[0] for one in told.reasons] == ["0", *map(str, range(10, 19))]
    assert {len(one) for one in told.reasons} == {4000}
    token = memory.tasks.claim("w").token
    for wrong, field in (("p" * 200_000, "progress"), ({1, object()}, "progress")):
        with pytest.raises(InvalidInput, match=field):
            memory.tasks.heartbeat(token, progress=wrong)
    assert memory.tasks.finish(token, "o" * 100_000).status == "done"


@pytest.mark.local
def test_what_json_cannot_hold_is_named(memory: AgentMemory) -> None:
    with pytest.raises(InvalidInput, match="input: cannot be stored as JSON") as refused:
        memory.tasks.add("x", input={"a": object()})
    assert refused.value.field == "input"
    memory.tasks.add("y")
    token = memory.tasks.claim("w").token
    with pytest.raises(InvalidInput, match="outcome: cannot be stored as JSON"):
        memory.tasks.finish(token, object())
    for _ in range(2):
        assert memory.tasks.finish(token, (1, 2)).outcome == [1, 2]


def earlier(memory: AgentMemory, description: str, **payload: object) -> str:
    """A task as an earlier version stored it."""
    client = memory.tasks._client
    draft = Draft(kind="task", id=new_id(), text=description, payload=payload)
    kinds = {"task": Kind("task", "tasks", indexed=("status",))}
    commit(client.runtime.writing._replace(kinds=kinds), [draft], client.author(), client.now())
    return draft.id


@pytest.mark.local
def test_tasks_of_earlier_versions_count(memory: AgentMemory) -> None:
    done = earlier(memory, "old", status="completed")
    waits = earlier(memory, "waits", status="blocked", depends_on=[done])
    assert memory.tasks.add("new", depends_on=[done]).status == "ready"
    assert names(memory.tasks.ready()) == ["waits", "new"]
    assert names(memory.tasks.list(status="done")) == ["old"] and names(memory.tasks.list(status="pending")) == [
        "waits"
    ]
    for _ in range(2):
        memory.tasks.finish(memory.tasks.claim("w").token)
    assert memory.tasks.get(waits).status == "done" and len(memory.tasks.list(status="done", limit=2)) == 2


@pytest.mark.local
def test_one_that_cannot_be_written_keeps_nobody_waiting(memory: AgentMemory) -> None:
    earlier(memory, "heavy", status="ready", priority=5, input={"x": "e" * (LONGEST_PAYLOAD - 80)})
    light = memory.tasks.add("light")
    assert memory.tasks.claim("w").task.id == light.id


@pytest.mark.local
def test_a_task_of_more_than_one_write_can_free_is_done(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request, "MOST_CHANGES", 10)
    monkeypatch.setattr(edges, "MOST_FREED", 4)
    first, other = memory.tasks.add("first", priority=5), memory.tasks.add("other")
    for number in range(13):
        memory.tasks.add(f"after {number}", depends_on=[first.id, other.id][: 1 + (number % 3 == 0)])
    memory.tasks.finish(memory.tasks.claim("w").token)
    assert len(memory.tasks.list(status="ready")) == 1 + 8
    assert len(memory.tasks.list(status="pending")) == 5


@pytest.mark.local
def test_no_lease_is_kept_of_a_claim_that_is_over(memory: AgentMemory) -> None:
    feed, old = memory.tasks._client.runtime.store.feed, []
    known = feed.states()
    failing = Task(description="t", max_attempts=2, retry_seconds=0)
    first = memory.tasks.add(failing)
    for _ in range(2):
        old.append(memory.tasks.claim("w").token)
        memory.tasks.fail(old[-1], "no")
    memory.tasks.retry(first.id)
    token = memory.tasks.claim("w").token
    assert len(feed.states()) == len(known) + 1
    for stale in old:
        with pytest.raises(LeaseLost):
            memory.tasks.heartbeat(stale)
    memory.tasks.finish(token, "x")
    for stale in old:
        with pytest.raises(LeaseLost):
            memory.tasks.finish(stale, "x")
    assert feed.states() == known


@pytest.mark.local
def test_a_long_chain_is_read_no_further_than_its_end(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    store, reads = type(memory.tasks._client.runtime.store.records), []
    get = store.get
    monkeypatch.setattr(store, "get", lambda self, view, ids: reads.append(ids) or get(self, view, ids))
    needs: list[str] = []
    for number in range(12):
        reads.clear()
        needs = [memory.tasks.add(f"link {number}", depends_on=needs).id]
        assert len(reads) <= 2
    last = memory.tasks.cancel(needs[0])
    reads.clear()
    assert memory.tasks.retry(last.id).status == "pending" and len(reads) <= 3


@pytest.mark.local
def test_a_claim_asks_for_no_lease_that_is_held(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.tasks.add("long")
    token = memory.tasks.claim("w", lease_seconds=1).token
    feed, asked = type(memory.tasks._client.runtime.store.feed), []
    lease = feed.lease
    monkeypatch.setattr(feed, "lease", lambda *words, **more: asked.append(words) or lease(*words, **more))
    memory.tasks._client.runtime.store.feed.renew(_lease(memory, token), 3600)
    time.sleep(1.1)
    assert memory.tasks.claim("w2").task is None and asked == []


@pytest.mark.local
def test_an_idle_worker_reads_what_waits_once(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    first = memory.tasks.add("first")
    for number in range(30):
        memory.tasks.add(f"after {number}", depends_on=[first.id])
    token = memory.tasks.claim("w", lease_seconds=3600).token
    store, read = type(memory.tasks._client.runtime.store.records), []
    find = store.find

    def counted(*words: object, **more: object) -> object:
        found = find(*words, **more)
        read.extend(one for one in found if one.payload["status"] == "pending")
        return found

    monkeypatch.setattr(store, "find", counted)
    assert memory.tasks.claim("idle").task is None and len(read) == 30
    for _ in range(3):
        memory.tasks.heartbeat(token)
        assert memory.tasks.claim("idle").task is None and len(read) == 30
    memory.tasks.finish(token)
    assert memory.tasks.claim("idle").task is not None


def _lease(memory: AgentMemory, token: str) -> Lease:
    _, holder, id = token.split(".")
    task = memory.tasks.get(id)
    [name] = [one.name for one in memory.tasks._client.runtime.store.feed.states() if one.holder == holder]
    return Lease(name, holder, task.token)


def test_tasks_of_other_users_are_out_of_reach(memory: AgentMemory) -> None:
    added = memory.tasks.add("mine")
    with AgentMemory("bob") as bob:
        assert bob.tasks.ready() == [] and bob.tasks.claim("w").task is None
        token = memory.tasks.claim("w").token
        for refused in (lambda: bob.tasks.finish(token), lambda: bob.tasks.cancel(added.id)):
            with pytest.raises(NotFound):
                refused()


def test_a_task_of_a_goal_that_is_not_there_is_refused(memory: AgentMemory) -> None:
    with pytest.raises(NotFound, match="no goal 'nowhere'") as refused:
        memory.tasks.add("sweep", goal_id="nowhere")
    assert refused.value.field == "goal_id" and memory.tasks.list() == []
    goal = memory.goals.add(Goal(description="a clean house"))
    assert memory.tasks.add("sweep", goal_id=goal.id).goal_id == goal.id


def test_what_begins_as_json_is_json_on_the_command_line(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(["tasks", "add", '{"description": "swe']) == 2
    assert "not JSON" in capsys.readouterr().err
    assert guarded(["--json", "tasks", "add", "[draft] sweep"]) == 0
    assert guarded(["--json", "tasks", "add", '"{literally}"']) == 0
    assert "{literally}" in capsys.readouterr().out
