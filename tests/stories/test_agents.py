"""Agents that resume: cycles in order, a proposal before the act, a result after it, and what a kill leaves."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory, AsyncAgentMemory
from agent_memory.models import Agent
from agent_memory.models.errors import Conflict, InvalidInput, LeaseLost, NotFound, StoreError

pytestmark = pytest.mark.requirement("L1", "L2", "L3", "L4", "L7", "L8")


@pytest.fixture
def memory() -> AgentMemory:
    with AgentMemory("ada") as client:
        yield client


@pytest.fixture
def agent(memory: AgentMemory) -> Agent:
    return memory.agents.create("deployer", "Deploy with care.")


def test_an_agent_has_a_name_directives_and_overrides(memory: AgentMemory, agent: Agent) -> None:
    assert memory.agents.get("Deployer").id == memory.agents.get(agent.id).id == agent.id
    again = memory.agents.create("deployer", "Deploy at night.", {"k": 3, "model": "small"})
    assert again.id == agent.id and again.overrides.k == 3
    assert [one.directives for one in memory.agents.list()] == ["Deploy at night."]
    assert len(memory.records.history(agent.id)) == 2
    for wrong in ({"k": 0}, {"kk": 1}, {"recipe": "nothing such"}, {"namespaces": "x"}):
        with pytest.raises(InvalidInput):
            memory.agents.create("other", "", wrong)
    with pytest.raises(NotFound, match="no agent 'nobody'"):
        memory.agents.get("nobody")
    with pytest.raises(StoreError, match="belongs to no memory"):
        Agent(id="x", name="x").resume()


def test_a_cycle_stores_the_proposal_before_and_the_result_after(memory: AgentMemory, agent: Agent) -> None:
    with agent.cycle() as c:
        proposal = c.propose("deploy", {"to": "staging"}, reasoning="asked for", plan=["build", "push"], cues=["a.py"])
        assert memory.agents.cycle(agent.id, 1).proposal == proposal and proposal.key == c.key == c.now.id
        c.note("observation", "the build is green", seconds=3)
        c.result({"url": "https://staging"}, artifacts=["log.txt"])
    [cycle] = memory.agents.cycles(agent.id)
    assert cycle.index == 1 and cycle.status == "complete" and cycle.result.artifacts == ["log.txt"]
    assert [one.payload["status"] for one in memory.records.history(cycle.id)] == ["open", "proposed", "complete"]
    [note] = memory.agents.notes(agent.id, "observation")
    assert note.cycle_id == cycle.id and note.metadata == {"seconds": 3}
    [told] = memory.agents.notes(agent.id, "result")
    assert told.content == 'deploy: success\n{"url":"https://staging"}' and told.cycle_id == cycle.id


def test_an_error_and_a_block_without_a_result_are_kept(memory: AgentMemory, agent: Agent) -> None:
    with pytest.raises(ValueError, match="no route"), agent.cycle() as c:
        c.propose("ping")
        raise ValueError("no route")
    with agent.cycle():
        pass
    second, first = memory.agents.cycles(agent.id)
    assert first.result.outcome == "failure" and first.result.error == {"type": "ValueError", "message": "no route"}
    assert second.status == "interrupted" and second.result.outcome == "interrupted"


def test_a_killed_agent_resumes_and_keeps_the_index(memory: AgentMemory, agent: Agent) -> None:
    assert agent.resume().next_index == 1 and agent.resume().last is None
    with agent.cycle() as c:
        c.propose("one")
        c.result("done")
    lost = memory.agents.begin(agent.id)
    with pytest.raises(Conflict, match="agent 'deployer' is in cycle 2, which has no result yet"):
        memory.agents.begin(agent.id)
    first = agent.resume()
    assert first.in_flight.index == 2 and first.in_flight.proposal is None and first.next_index == 3
    assert first.last.index == 1 and first.last.result.output == "done"
    assert agent.resume() == first
    with pytest.raises(LeaseLost, match="cycle 2 was interrupted: another process took this agent over"):
        memory.agents.result(lost.id, lost.token, {"output": "late"})
    with agent.cycle() as c:
        assert c.index == 3
        c.propose("three", key="same act")
        c.result("done")
    resumed = agent.resume()
    assert resumed.in_flight is None and resumed.last.index == 3
    assert [one.index for one in memory.agents.cycles(agent.id)] == [3, 2, 1]


def test_an_act_is_not_lost_however_often_its_agent_is_killed(memory: AgentMemory, agent: Agent) -> None:
    with agent.cycle() as c:
        c.propose("one")
        c.result("done")
    cycle = memory.agents.begin(agent.id)
    memory.agents.propose(cycle.id, cycle.token, {"tool": "pay", "key": "K"})
    for killed in range(3):
        resumed = agent.resume()
        assert (resumed.in_flight.index, resumed.in_flight.proposal.key, resumed.last.index) == (2, "K", 1)
        assert resumed.next_index == 3 + killed
        memory.agents.begin(agent.id)
    agent.resume()
    with agent.cycle() as c:
        c.propose("pay", key="K")
        c.result("paid")
    memory.agents.begin(agent.id)
    resumed = agent.resume()
    assert resumed.last.result.output == "paid" and resumed.in_flight.proposal is None


def test_steps_said_twice_are_done_once_and_others_are_refused(memory: AgentMemory, agent: Agent) -> None:
    cycle = memory.agents.begin(agent.id)
    with pytest.raises(Conflict, match="has no proposal"):
        memory.agents.result(cycle.id, cycle.token, {"output": 1})
    for _ in range(2):
        memory.agents.propose(cycle.id, cycle.token, {"tool": "x"})
    with pytest.raises(Conflict, match="has a proposal already"):
        memory.agents.propose(cycle.id, cycle.token, {"tool": "y"})
    with pytest.raises(LeaseLost, match="belongs to another process"):
        memory.agents.result(cycle.id, "forged", {"output": 1})
    for _ in range(2):
        memory.agents.result(cycle.id, cycle.token, {"output": 1})
    with pytest.raises(Conflict, match="has a result already"):
        memory.agents.result(cycle.id, cycle.token, {"output": 2})
    assert len(memory.records.history(cycle.id)) == 3 and len(memory.agents.notes(agent.id, "result")) == 1


def test_of_two_that_begin_at_once_one_does(memory: AgentMemory, agent: Agent) -> None:
    for round in range(1, 6):
        begun, refused = [], []
        together = threading.Barrier(2)

        def begin(together: threading.Barrier = together, begun: list = begun, refused: list = refused) -> None:
            together.wait()
            try:
                begun.append(memory.agents.begin(agent.id))
            except Conflict as error:
                refused.append(error)

        threads = [threading.Thread(target=begin) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [one.index for one in begun] == [round] and len(refused) == 1
        memory.agents.propose(begun[0].id, begun[0].token, {"tool": "x"})
        memory.agents.result(begun[0].id, begun[0].token, {"output": round})


def test_a_clock_that_goes_back_leaves_no_gaps(clock: object) -> None:
    with AgentMemory("ada", clock=clock) as memory:
        agent = memory.agents.create("deployer", "")
        for step in (1, 1, 1, -30, 2, -30, 1):
            with agent.cycle() as c:
                c.propose("x")
                c.result(step)
            clock.forward(days=step)
        assert sorted(one.index for one in memory.agents.cycles(agent.id)) == [*range(1, 8)]
        assert agent.resume().last.index == 7
        assert [one.index for one in memory.agents.cycles(agent.id, limit=4)] == [7, 6, 5, 4]
        recalled = {one.record.payload["metadata"]["index"] for one in agent.recall("x", k=1)}
        assert recalled >= {3, 4, 5, 6, 7}


def test_an_agent_is_known_by_its_name_everywhere(memory: AgentMemory, agent: Agent) -> None:
    cycle = memory.agents.begin("Deployer")
    assert cycle.agent_id == agent.id and memory.agents.cycle("deployer", 1) == cycle
    assert memory.agents.resume("deployer").in_flight.id == cycle.id
    memory.agents.note("deployer", "plan", "rest")
    assert [one.content for one in memory.agents.notes("deployer", "plan")] == ["rest"]
    assert [one.id for one in memory.agents.cycles("deployer")] == [cycle.id]


@pytest.mark.local
def test_a_result_that_json_cannot_hold_is_no_failure_of_the_act(memory: AgentMemory, agent: Agent) -> None:
    with pytest.raises(InvalidInput, match="output: cannot be stored as JSON") as refused, agent.cycle() as c:
        c.propose("pay", key="K")
        c.result(object())
    assert refused.value.field == "output"
    assert agent.resume().in_flight.proposal.key == "K"
    with pytest.raises(InvalidInput, match="arguments: cannot be stored as JSON"), agent.cycle() as c:
        c.propose("pay", {"to": object()})


def test_overrides_change_what_an_agent_recalls(memory: AgentMemory) -> None:
    for number in range(8):
        memory.records.add(f"staging runs on port {5430 + number}", importance=number / 10)
    few = memory.agents.create("few", "", {"k": 2})
    many = memory.agents.create("many", "", {"k": 5})
    assert (len(few.recall("staging port")), len(many.recall("staging port"))) == (2, 5)
    assert len(few.recall("staging port", k=4)) == 4
    meaning = memory.agents.create("by meaning", "", {"recipe": "decay", "k": 8})
    usual = memory.agents.create("usual", "", {"k": 8})
    scores = [[(one.record.id, one.score) for one in agent.recall("staging port")] for agent in (meaning, usual)]
    assert scores[0] != scores[1]
    note = memory.records.add("the cat sleeps")
    memory.vectors.embed([note.id], ["short-term"])
    own = memory.agents.create("short", "", {"namespaces": ["short-term"]})
    assert [one.record.id for one in own.recall("staging port")] == [note.id]
    with few.cycle() as c:
        assert c.now.overrides.k == 2


def test_recall_has_the_newest_results_too(memory: AgentMemory, agent: Agent) -> None:
    memory.records.add("staging runs on port 5433")
    for number in range(7):
        with agent.cycle() as c:
            c.propose("ping")
            c.result(f"pong {number}")
    found = agent.recall("which port does staging run on?", k=1)
    assert [one.source for one in found] == ["index", *["recent"] * 5]
    assert found[0].record.text == "staging runs on port 5433"
    assert [one.record.text for one in found[1:]] == [f"ping: success\npong {number}" for number in (6, 5, 4, 3, 2)]
    other = memory.agents.create("other", "")
    assert [one.source for one in other.recall("staging port", k=1)] == ["index"]


def test_reflections_belong_to_their_agent(memory: AgentMemory, agent: Agent) -> None:
    agent.note("reflection", "ask before deploying")
    agent.note("plan", "first staging, then production")
    assert [one.content for one in memory.agents.notes(agent.id, "reflection")] == ["ask before deploying"]
    other = memory.agents.create("other", "")
    cycle = memory.agents.begin(other.id)
    with pytest.raises(NotFound, match="has no cycle"):
        memory.agents.note(agent.id, "plan", "x", cycle.id)


@pytest.mark.file
def test_a_cycle_is_found_by_an_index(memory: AgentMemory, agent: Agent, home: Path) -> None:
    from agent_memory.engines.sqlite.statements import SQL

    with agent.cycle() as c:
        assert (c.index, memory.agents.cycle(agent.id, 1).id) == (1, c.now.id)
    with sqlite3.connect(next(home.rglob("*.db"))) as store:
        [(*_, plan)] = store.execute(f"explain query plan {SQL['record_by_key']}", ("key", 1, 1)).fetchall()
    assert plan.startswith("SEARCH versions USING") and "key=?" in plan


def test_agents_of_other_users_are_out_of_reach(memory: AgentMemory, agent: Agent) -> None:
    cycle = memory.agents.begin(agent.id)
    with AgentMemory("bob") as bob:
        assert bob.agents.list() == []
        for refused in (
            lambda: bob.agents.begin(agent.id),
            lambda: bob.agents.resume(agent.id),
            lambda: bob.agents.propose(cycle.id, cycle.token, {"tool": "x"}),
            lambda: bob.agents.cycle(agent.id, 1),
        ):
            with pytest.raises(NotFound):
                refused()


def test_the_same_through_a_server(serving: Callable[..., Any]) -> None:
    with serving() as url, AgentMemory("ada", store=url) as memory:
        agent = memory.agents.create("deployer", "Deploy with care.", {"k": 2})
        with agent.cycle() as c:
            c.propose("deploy")
            c.result("ok")
        assert agent.resume().last.result.output == "ok" and memory.agents.list()[0].recall("ok")
        task, token = memory.tasks.add("pack") and memory.tasks.claim("w")
        assert memory.tasks.finish(token, {"boxes": 2}).id == task.id
        run = memory.runs.start("packing", "pack")
        receipt = memory.recall("pack").receipt_id
        memory.runs.end(run.id, None, True)
        assert memory.receipts.get(receipt)["run_id"] == run.id


def test_the_same_awaited(home: Path) -> None:
    async def live() -> None:
        async with AsyncAgentMemory("ada") as memory:
            agent = await memory.agents.create("deployer", "")
            cycle = await memory.agents.begin(agent.id)
            await memory.agents.propose(cycle.id, cycle.token, {"tool": "x"})
            await memory.agents.result(cycle.id, cycle.token, {"output": 1})
            assert (await memory.agents.resume(agent.id)).last.index == 1
            await memory.tasks.add("pack")
            task, token = await memory.tasks.claim("w")
            assert (await memory.tasks.finish(token)).id == task.id

    asyncio.run(live())
