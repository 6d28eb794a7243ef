"""Goals, tasks, agents and runs against plain-Python models of them, on every engine that keeps records."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test
from numpy.typing import NDArray
from tests.parts.postgres import emptied
from tests.toy.engine import open_toy

from agent_memory import AgentMemory
from agent_memory.app.caller import Caller
from agent_memory.app.client import Client, Here
from agent_memory.app.config import load
from agent_memory.app.guarded import Guarded
from agent_memory.app.pricing import terms
from agent_memory.app.registry import installed_kinds
from agent_memory.app.wiring import Runtime
from agent_memory.core.context.tokens import estimate
from agent_memory.core.govern.metering import ModelMeter
from agent_memory.engines import postgres, sqlite
from agent_memory.models import Goal, Task
from agent_memory.models.errors import AgentMemoryError, Conflict, InvalidInput, LeaseLost
from agent_memory.models.record import Scope
from agent_memory.ports.clock import SystemClock
from agent_memory.ports.embedder import Passage, Space
from agent_memory.ports.store import Store
from agent_memory.testing import memory as reference

ENGINES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda folder: sqlite.open_store(folder / "memory.db"),
    "toy": lambda folder: open_toy(),
    "reference": lambda folder: reference.open_store(),
    "postgres": lambda folder: postgres.open_store(emptied(18)),
}
QUICK = ["sqlite", "toy", "reference", pytest.param("postgres", marks=pytest.mark.engines)]
BLINK = 0.001  # seconds of a lease that is over before anybody looks
LONG = 10_000.0
PICK = st.integers(0, 7)
HOW = ["propose", "result"]


class Half:
    """An embedder for which all texts mean the same."""

    space = Space("half", "1", 4)

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.full((len(texts), 4), 0.5, np.float32)


class Machine(RuleBasedStateMachine):
    open_store: Callable[[Path], Store]

    @initialize()
    def open(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.store = type(self).open_store(Path(self.folder.name))
        chosen = load()
        kinds = installed_kinds()
        self.store.records.prepare(kinds.values())
        meter = ModelMeter(self.store.spending, SystemClock, estimate, terms(chosen))
        runtime = Runtime(chosen, self.store.url, self.store, Guarded(Half()), kinds, meter, clients=1)
        self.books = (runtime.receipts, runtime.refusals, runtime.reads)
        self.memory = AgentMemory.__new__(AgentMemory)
        self.memory._client = Client(Caller(Scope(user="ada")), chosen, Here(lambda: runtime), SystemClock())

    def teardown(self) -> None:
        if hasattr(self, "store"):
            assert self.memory.upkeep.verify().ok
            for book in self.books:  # one that is left open tries again for ever, in a thread
                book.close()
            self.store.close()
            self.folder.cleanup()

    @contextmanager
    def refused(self, why: type[AgentMemoryError] | None) -> Iterator[None]:
        """Exactly this, and nothing is written; None: it is not refused."""
        if why is None:
            yield
            return
        before = self.store.records.seq_at("default", 2**60)
        with pytest.raises(why):
            yield
        assert self.store.records.seq_at("default", 2**60) == before


def reaches(edges: Callable[[str], Sequence[str]], start: Sequence[str], goal: str) -> bool:
    seen, ahead = set(start), list(start)
    while ahead:
        one = ahead.pop()
        if one == goal:
            return True
        ahead += [other for other in edges(one) if other not in seen]
        seen.update(edges(one))
    return False


class Goals(Machine):
    LEGAL = {  # noqa: RUF012
        "active": {"completed", "abandoned", "blocked"},
        "blocked": {"active", "abandoned"},
        "completed": {"active"},
        "abandoned": {"active"},
    }

    def __init__(self) -> None:
        super().__init__()
        self.goals: dict[str, dict[str, Any]] = {}

    def pick(self, number: int) -> str:
        return [*self.goals][number % len(self.goals)]

    @rule(status=st.sampled_from(["active", "blocked"]), by=st.lists(PICK, max_size=2), under=st.none() | PICK)
    def add(self, status: Any, by: list[int], under: int | None) -> None:
        blockers = sorted({self.pick(one) for one in by}) if self.goals else []
        parent = self.pick(under) if under is not None and self.goals else None
        goal = self.memory.add_goal(Goal(description="g", status=status, blocked_by=blockers, parent_goal_id=parent))
        self.goals[goal.id] = {"status": status, "by": blockers, "under": parent}
        self.settle(self.goals[goal.id])
        self.agree()

    def settle(self, goal: dict[str, Any]) -> None:
        """What is blocked by others is so as long as one of them is open."""
        done = all(self.goals[other]["status"] == "completed" for other in goal["by"])
        if goal["status"] == "blocked" and goal["by"] and done:
            goal["status"] = "active"

    @precondition(lambda self: self.goals)
    @rule(which=PICK, status=st.sampled_from([*LEGAL]))
    def change(self, which: int, status: Any) -> None:
        id = self.pick(which)
        goal = self.goals[id]
        legal = status == goal["status"] or status in self.LEGAL[goal["status"]]
        with self.refused(None if legal else Conflict):
            self.memory.goals.update(id, status=status)
        if legal and goal["status"] != status:
            goal["status"] = status
            for one in self.goals.values():
                if one is goal or (status == "completed" and id in one["by"]):
                    self.settle(one)
        self.agree()

    @precondition(lambda self: self.goals)
    @rule(which=PICK, by=st.lists(PICK, max_size=2))
    def block(self, which: int, by: list[int]) -> None:
        id, blockers = self.pick(which), sorted({self.pick(one) for one in by})
        circle = reaches(lambda one: self.goals[one]["by"], blockers, id)
        with self.refused(InvalidInput if circle else None):
            self.memory.goals.update(id, blocked_by=blockers)
        if not circle:
            self.goals[id]["by"] = blockers
            self.settle(self.goals[id])
        self.agree()

    @precondition(lambda self: self.goals)
    @rule(which=PICK, under=PICK)
    def move(self, which: int, under: int) -> None:
        id, parent = self.pick(which), self.pick(under)
        circle = reaches(lambda one: [up] if (up := self.goals[one]["under"]) else [], [parent], id)
        with self.refused(InvalidInput if circle else None):
            self.memory.goals.update(id, parent_goal_id=parent)
        if not circle:
            self.goals[id]["under"] = parent
        self.agree()

    def agree(self) -> None:
        for id, goal in self.goals.items():
            there = self.memory.goals.get(id)
            assert {"status": there.status, "by": there.blocked_by, "under": there.parent_goal_id} == goal
            links = {(one.type, one.target_id) for one in self.memory.records.links(id) if one.source_id == id}
            parent = {("SUBGOAL_OF", goal["under"])} if goal["under"] else set()
            assert links == {("BLOCKED_BY", one) for one in goal["by"]} | parent


class Tasks(Machine):
    def __init__(self) -> None:
        super().__init__()
        self.tasks: dict[str, dict[str, Any]] = {}
        self.claims: list[tuple[str, str]] = []

    def pick(self, number: int) -> str:
        return [*self.tasks][number % len(self.tasks)]

    def settled(self, needs: Sequence[str]) -> str:
        return "ready" if all(self.tasks[one]["status"] == "done" for one in needs) else "pending"

    def order(self) -> list[str]:
        """Ids by priority and age: they are made in order."""
        return sorted(self.tasks, key=lambda id: (-self.tasks[id]["priority"], [*self.tasks].index(id)))

    @rule(priority=st.integers(1, 5), needs=st.lists(PICK, max_size=2))
    def add(self, priority: int, needs: list[int]) -> None:
        chosen = sorted({self.pick(one) for one in needs}) if self.tasks else []
        task = Task(description="t", priority=priority, depends_on=chosen, max_attempts=2, retry_seconds=0)
        added = self.memory.tasks.add(task)
        new = {"priority": priority, "needs": chosen, "failures": 0, "token": None, "held": False}
        self.tasks[added.id] = {**new, "status": self.settled(chosen)}
        self.agree()

    @precondition(lambda self: self.tasks)
    @rule(which=PICK, needs=st.lists(PICK, max_size=2))
    def change(self, which: int, needs: list[int]) -> None:
        id, chosen = self.pick(which), sorted({self.pick(one) for one in needs})
        waits = self.tasks[id]["status"] in ("pending", "ready")
        circle = reaches(lambda one: self.tasks[one]["needs"], chosen, id)
        with self.refused(Conflict if not waits else InvalidInput if circle else None):
            self.memory.tasks.add(Task(id=id, description="t", depends_on=chosen))
        if waits and not circle:
            self.tasks[id] |= {"needs": chosen, "status": self.settled(chosen)}
        self.agree()

    @rule(short=st.booleans())
    def claim(self, short: bool) -> None:
        claimed = self.memory.tasks.claim("w", lease_seconds=BLINK if short else LONG)
        free = [id for id in self.order() if not self.tasks[id]["held"]]
        left = [id for id in free if self.tasks[id]["status"] == "running"]
        ready = [id for id in free if self.tasks[id]["status"] == "ready"]
        first = min([*left, *ready], key=lambda id: (-self.tasks[id]["priority"], id in ready), default=None)
        assert (claimed.task.id if claimed.task else None) == first
        if claimed.task is not None and claimed.token is not None:
            self.tasks[claimed.task.id] |= {"status": "running", "token": claimed.token, "held": not short}
            self.claims.append((claimed.task.id, claimed.token))
        time.sleep(2 * BLINK if short else 0)
        self.agree()

    @precondition(lambda self: self.claims)
    @rule(which=PICK, how=st.sampled_from(["finish", "fail", "heartbeat", "progress"]))
    def report(self, which: int, how: str) -> None:
        id, token = self.claims[-1 - which % len(self.claims)]
        task = self.tasks[id]
        last, status = task["token"] == token, task["status"]
        told = how in ("heartbeat", "progress") and status == "cancelled"
        good = last and (status == "running" or told or (how == "finish" and status == "done"))
        with self.refused(None if good else Conflict if last else LeaseLost):
            if how == "finish":
                self.memory.tasks.finish(token, "done")
            elif how == "fail":
                self.memory.tasks.fail(token, "no")
            else:
                beat = self.memory.tasks.heartbeat(token, progress=which if how == "progress" else None)
                assert beat.cancel == (status == "cancelled")
        if not good:
            return
        if how == "finish" and status == "running":
            task |= {"status": "done", "held": False}
            for one in self.tasks.values():
                if one["status"] == "pending" and id in one["needs"]:
                    one["status"] = self.settled(one["needs"])
        elif how == "fail":
            task["failures"] += 1
            task |= {"status": "failed" if task["failures"] == 2 else "ready", "held": False}
        elif told:
            task["held"] = False
        elif how != "finish" and not task["held"]:  # it was over, and is good for as long again
            time.sleep(2 * BLINK)
        self.agree()

    @precondition(lambda self: self.tasks)
    @rule(which=PICK, how=st.sampled_from(["cancel", "retry"]))
    def decide(self, which: int, how: str) -> None:
        id = self.pick(which)
        task = self.tasks[id]
        legal = {"cancel": ("pending", "ready", "running", "cancelled"), "retry": ("failed", "cancelled")}[how]
        same = how == "retry" and task["status"] == "pending"  # which it is already
        good = task["status"] in legal or same
        with self.refused(None if good else Conflict):
            getattr(self.memory.tasks, how)(id)
        if good and not same:
            task["status"] = "cancelled" if how == "cancel" else self.settled(task["needs"])
            task["failures"] = 0 if how == "retry" else task["failures"]
        self.agree()

    def agree(self) -> None:
        assert {id: self.memory.tasks.get(id).status for id in self.tasks} == {
            id: task["status"] for id, task in self.tasks.items()
        }
        ready = [id for id in self.order() if self.tasks[id]["status"] == "ready"]
        assert [one.id for one in self.memory.tasks.ready(limit=100)] == ready


class Agents(Machine):
    def __init__(self) -> None:
        super().__init__()
        self.cycles: list[dict[str, Any]] = []

    @initialize()
    def open(self) -> None:
        super().open()
        self.agent = self.memory.agents.create("a", "")

    @rule()
    def begin(self) -> None:
        busy = bool(self.cycles) and self.cycles[-1]["status"] in ("open", "proposed")
        with self.refused(Conflict if busy else None):
            cycle = self.memory.agents.begin(self.agent.id)
        if not busy:
            self.cycles.append({"status": "open", "id": cycle.id, "token": cycle.token})
        self.agree()

    @precondition(lambda self: self.cycles)
    @rule(back=st.integers(0, 2), output=st.integers(0, 1), how=st.sampled_from(HOW), forged=st.booleans())
    def step(self, back: int, output: int, how: str, forged: bool) -> None:
        cycle = self.cycles[max(0, len(self.cycles) - 1 - back)]
        said, status = cycle.get(how), cycle["status"]
        fresh = status == "open" if how == "propose" else status == "proposed"
        again = said == output and status != "interrupted"  # an answer that was lost is asked for again
        good = not forged and (fresh or again)
        lost = forged or status == "interrupted"
        with self.refused(None if good else LeaseLost if lost else Conflict):
            token = "forged" if forged else cycle["token"]
            if how == "propose":
                self.memory.agents.propose(cycle["id"], token, {"tool": "x", "arguments": {"n": output}})
            else:
                self.memory.agents.result(cycle["id"], token, {"output": output})
        if good and fresh:
            cycle |= {how: output, "status": "proposed" if how == "propose" else "complete"}
        self.agree()

    @rule()
    def resume(self) -> None:
        resumed = self.memory.agents.resume(self.agent.id)
        if self.cycles and self.cycles[-1]["status"] in ("open", "proposed"):
            self.cycles[-1]["status"] = "interrupted"
        whole = [place for place, one in enumerate(self.cycles, 1) if one["status"] == "complete"]
        since = [*enumerate(self.cycles, 1)][whole[-1] if whole else 0 :]
        flying = [place for place, one in since if "propose" in one] or [place for place, _ in since]
        assert resumed.next_index == len(self.cycles) + 1
        assert (resumed.last.index if resumed.last else None) == (whole[-1] if whole else None)
        assert (resumed.in_flight.index if resumed.in_flight else None) == (flying[-1] if flying else None)
        self.agree()

    def agree(self) -> None:
        there = self.memory.agents.cycles(self.agent.id, limit=1000)[::-1]
        assert [one.index for one in there] == [*range(1, len(self.cycles) + 1)]
        assert [(one.id, one.status) for one in there] == [(one["id"], one["status"]) for one in self.cycles]
        results = self.memory.agents.notes(self.agent.id, "result", limit=1000)
        assert len(results) == sum(one["status"] in ("complete", "interrupted") for one in self.cycles)


class Runs(Machine):
    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, dict[str, Any]] = {}

    def pick(self, number: int) -> str:
        return [*self.runs][number % len(self.runs)]

    @rule()
    def start(self) -> None:
        run = self.memory.runs.start("t", "r")
        self.runs[run.id] = {"steps": [], "end": None, "tokens": None}
        self.agree()

    @precondition(lambda self: self.runs)
    @rule(which=PICK, tokens=st.none() | st.integers(0, 9))
    def step(self, which: int, tokens: int | None) -> None:
        id = self.pick(which)
        run = self.runs[id]
        with self.refused(Conflict if run["end"] else None):
            assert self.memory.runs.step(id, "s", tokens=tokens).index == len(run["steps"]) + 1
        if run["end"] is None:
            run["steps"].append(tokens)
        self.agree()

    @precondition(lambda self: self.runs)
    @rule(which=PICK, outcome=st.integers(0, 1), success=st.booleans(), tokens=st.none() | st.integers(0, 9))
    def end(self, which: int, outcome: int, success: bool, tokens: int | None) -> None:
        id = self.pick(which)
        run = self.runs[id]
        with self.refused(None if run["end"] in (None, (outcome, success)) else Conflict):
            self.memory.runs.end(id, outcome, success, tokens=tokens)
        if run["end"] is None:
            told = [one for one in run["steps"] if one is not None]
            run |= {"end": (outcome, success), "tokens": sum(told) if tokens is None and told else tokens}
        self.agree()

    def agree(self) -> None:
        for id, run in self.runs.items():
            there = self.memory.runs.get(id)
            assert [(one.index, one.tokens) for one in there.steps] == [*enumerate(run["steps"], 1)]
            assert (there.status == "ended") == (run["end"] is not None) and there.tokens == run["tokens"]
            assert (there.outcome, there.success) == (run["end"] or (None, None))


@pytest.mark.timeout(900)  # when it fails, it looks for a short example
@pytest.mark.parametrize("engine", QUICK)
@pytest.mark.parametrize(
    "machine",
    [
        pytest.param(Goals, marks=pytest.mark.requirement("C6")),
        pytest.param(Tasks, marks=pytest.mark.requirement("P7")),
        pytest.param(Agents, marks=pytest.mark.requirement("L2", "L7")),
        pytest.param(Runs, marks=pytest.mark.requirement("P7")),
    ],
)
def test_the_machine_does_what_its_model_does(machine: type[Machine], engine: str, home: Path) -> None:
    tried = type(machine.__name__, (machine,), {"open_store": staticmethod(ENGINES[engine])})
    how = settings(max_examples=8, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(tried, settings=how)


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("machine", [Goals, Tasks, Agents, Runs])
def test_the_machine_goes_on_doing_so(machine: type[Machine], engine: str, home: Path) -> None:
    tried = type(machine.__name__, (machine,), {"open_store": staticmethod(ENGINES[engine])})
    run_state_machine_as_test(
        tried,
        settings=settings(
            max_examples=100, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
