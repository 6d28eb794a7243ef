"""Runs: a beginning, steps in order, an end and what it cost; what was asked and called meanwhile carries its id."""

from __future__ import annotations

import threading

import pytest

from agent_memory import AgentMemory
from agent_memory.models.errors import Conflict, InvalidInput, NotFound

pytestmark = pytest.mark.requirement("P7")


@pytest.fixture
def memory(request: pytest.FixtureRequest) -> AgentMemory:
    with AgentMemory("ada", "talk") as client:
        yield client


def test_a_run_from_its_beginning_to_its_end(clock: object) -> None:
    with AgentMemory("ada", "talk", clock=clock) as memory:
        run = memory.runs.start("deployment", "deploy 1.4 to staging", model="small")
        assert run.status == "running" and memory.records.get(run.id).conversation_id == "talk"
        memory.runs.step(run.id, "build", {"commit": "abc"}, tokens=120, money=0.25)
        clock.forward(seconds=90)
        memory.runs.step(run.id, "push", tokens=30, seconds=4.5)
        ended = memory.runs.end(run.id, "it is live", True)
        assert (ended.tokens, ended.money, ended.seconds) == (150, 0.25, 90.0)
        assert ended.success is True and ended.outcome == "it is live" and ended.ended_at == clock.now()
        told = memory.runs.get(run.id)
        assert [(one.index, one.title) for one in told.steps] == [(1, "build"), (2, "push")]
        assert memory.runs.end(run.id, "it is live", True) == ended  # an answer that was lost is asked for again
        for refused in (lambda: memory.runs.end(run.id, "no", False), lambda: memory.runs.step(run.id, "late")):
            with pytest.raises(Conflict, match="has ended"):
                refused()
        other = memory.runs.start("review", "read it")
        memory.runs.end(other.id, None, False, tokens=7, seconds=1)
        assert [one.title for one in memory.runs.list()] == ["read it", "deploy 1.4 to staging"]
        assert [one.id for one in memory.runs.list(task_type="deployment")] == [run.id]
        assert [one.id for one in memory.runs.list(success=False)] == [other.id]
        with pytest.raises(NotFound, match="no run 'x'"):
            memory.runs.get("x")
        with pytest.raises(InvalidInput, match="tokens"):
            memory.runs.step(run.id, "x", tokens=-1)


def test_receipts_and_tool_calls_carry_its_id(memory: AgentMemory) -> None:
    memory.records.add("staging runs on port 5433")
    before = memory.recall("staging").receipt_id
    run = memory.runs.start("deployment", "deploy")
    inside = [memory.recall("staging").receipt_id, memory.assemble_context("deploy to staging").receipt_id]
    memory.remember("staging")
    memory.agents.create("deployer", "").recall("staging")
    memory.record_tool_usage("kubectl", {"verb": "apply"}, "ok", True, 12)
    memory.runs.end(run.id, "done", True)
    after = memory.recall("staging").receipt_id
    told = {one.receipt_id for one in memory.receipts.find(of_run=run.id)}
    assert told > set(inside) and len(told) == 4
    assert memory.receipts.get(inside[0])["run_id"] == run.id and "run_id" not in memory.receipts.get(before)
    assert "run_id" not in memory.receipts.get(after)
    [call] = memory.records.find("tool_call", fields={"run_id": run.id})
    assert call.payload["tool_name"] == "kubectl"
    named = memory.recall("staging", run_id=run.id).receipt_id  # as a door does, which keeps nothing between calls
    assert memory.receipts.get(named)["run_id"] == run.id
    assert memory.receipts.replay(inside[0]).identical


@pytest.mark.local
def test_what_json_cannot_hold_is_named(memory: AgentMemory) -> None:
    run = memory.runs.start("deployment", "deploy")
    with pytest.raises(InvalidInput, match="data: cannot be stored as JSON"):
        memory.runs.step(run.id, "x", object())
    with pytest.raises(InvalidInput, match="outcome: cannot be stored as JSON"):
        memory.runs.end(run.id, object(), True)
    assert memory.runs.end(run.id, (1, 2), True) == memory.runs.end(run.id, (1, 2), True)


def test_steps_of_several_at_once_are_numbered_without_gaps(memory: AgentMemory) -> None:
    run = memory.runs.start("deployment", "deploy")
    threads = [
        threading.Thread(target=memory.runs.step, args=(run.id, f"step {number}"), kwargs={"tokens": 1})
        for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ended = memory.runs.end(run.id, None, True)
    assert [one.index for one in memory.runs.get(run.id).steps] == [*range(1, 9)] and ended.tokens == 8
