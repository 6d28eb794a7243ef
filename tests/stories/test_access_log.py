"""Who read what, when, why and through which door: the access log, and what `audit` tells of it. P9."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.conftest import SteppingClock

from agent_memory import AgentMemory
from agent_memory.app.operations import TABLE
from agent_memory.models.audit import AuditLine
from agent_memory.models.errors import InvalidInput
from agent_memory.ports.receipts import RETENTION
from patience import PATIENCE

pytestmark = pytest.mark.requirement("P9")


def reads(memory: AgentMemory, **wanted: Any) -> list[AuditLine]:
    return [one for one in memory.govern.audit(**wanted) if one.did == "read"]


def test_a_read_tells_who_what_when_and_why_and_never_the_text(memory: AgentMemory) -> None:
    id = memory.records.add("the port is 8080").id
    memory.records.get(id, why="INC-42")
    (line,) = reads(memory)
    assert (line.operation, line.user, line.agent, line.ids, line.shown) == ("records.get", "ada", "*", [id], 1)
    assert line.why == "INC-42" and line.milliseconds is not None
    assert "8080" not in line.model_dump_json()


def test_a_recall_leads_to_its_receipt_and_its_cost(memory: AgentMemory) -> None:
    ids = {memory.records.add(text).id for text in ("the port is 8080", "the port is open")}
    found = memory.recall("which port?", why="reviewing")
    (line,) = reads(memory)
    assert set(line.ids) == ids == {hit.id for hit in found.hits} and line.shown == 2
    assert (line.operation, line.receipt_id, line.why) == ("recall", found.receipt_id, "reviewing")
    assert line.tokens == found.tokens


def test_audit_of_a_record_tells_reads_and_changes(memory: AgentMemory) -> None:
    id, other = memory.records.add("the port is 8080", reason="told so").id, memory.records.add("something else").id
    memory.records.get(other)
    memory.records.get(id, why="INC-42")
    memory.records.edit(id, "the port is 9090", reason="it moved")
    told = memory.govern.audit(id)
    assert [(one.did, one.why) for one in told] == [("changed", "it moved"), ("read", "INC-42"), ("changed", "told so")]
    assert len(memory.govern.audit(id, limit=1)) == 1
    assert reads(memory, by="bob") == [] and len(reads(memory, by="ada")) == 2


@pytest.mark.local
def test_every_operation_that_reads_leaves_one_line_and_no_other_does(memory: AgentMemory) -> None:
    record = memory.records.get(memory.records.add("the port is 8080").id)
    client, expected = memory._client, 1
    for operation in TABLE.values():
        reading = operation.shows_memories and not operation.here
        declared = dataclasses.replace(operation, function=lambda namespace, **given: record)
        client.dispatch(declared, {}, operation.owner(client))
        expected += reading
        if reading:
            assert reads(memory, limit=1)[0].operation == operation.name
    assert len(reads(memory, limit=1000)) == expected > 80


def test_what_is_shown_while_writing_was_read_too(memory: AgentMemory) -> None:
    """A list of what could be pruned, a task that somebody takes, where an agent goes on."""
    aged = datetime.now(UTC) - timedelta(days=365)
    cold = memory.records.add("the coffee was cold", importance=0.05, valid_from=aged).id
    task = memory.tasks.add("pack").id
    agent = memory.agents.create("planner", "Be kind.")
    cycle = memory.agents.begin(agent.id)
    memory.upkeep.prune(why="spring cleaning")
    memory.tasks.claim("w")
    memory.agents.resume(agent.id)
    told = [(one.operation, [*one.ids], one.why) for one in reversed(reads(memory))]
    assert told == [
        ("upkeep.prune", [cold], "spring cleaning"),
        ("tasks.claim", [task], None),
        ("agents.resume", [cycle.id], None),
    ]


@pytest.mark.local
def test_a_client_may_say_why_once_for_all_of_its_reads(memory: AgentMemory) -> None:
    id = memory.records.add("the port is 8080").id
    with AgentMemory("ada", why="nightly report") as other:
        other.records.get(id)
        other.records.get(id, why="and this one for INC-42")
    assert [one.why for one in reads(memory)] == ["and this one for INC-42", "nightly report"]


@pytest.mark.parametrize("why", ["x" * 201, "two\nlines", 7])
def test_a_reason_is_one_short_line(memory: AgentMemory, why: Any) -> None:
    id = memory.records.add("the port is 8080").id
    with pytest.raises(InvalidInput, match=r"why: .* at most 200 characters") as caught:
        memory.records.get(id, why=why)
    assert caught.value.field == "why" and reads(memory) == []


def test_reasons_go_with_what_is_forgotten(memory: AgentMemory) -> None:
    id = memory.records.add("ada has the flu").id
    memory.records.get(id, why="does ada have the flu?")
    memory.records.forget([id])
    (line,) = reads(memory)
    assert (line.ids, line.why) == ([id], None)


@pytest.mark.local
def test_another_user_is_told_apart(memory: AgentMemory) -> None:
    memory.records.get(memory.records.add("the port is 8080").id)
    with AgentMemory("bob") as bob:
        bob.records.get(bob.records.add("bob's").id)
    assert [one.user for one in reads(memory)] == ["bob", "ada"]
    assert [one.user for one in reads(memory, by="bob")] == ["bob"]


@pytest.mark.local
def test_who_changed_what_holds_for_all_users_is_named(memory: AgentMemory) -> None:
    memory.records.add("the port is 8080")
    memory.review.set_policy([])
    with AgentMemory("bob") as bob:
        bob.govern.allow("fedcba9876543210", reason="a fixture")
    told = [(one.user, one.why) for one in memory.govern.audit()]
    assert told == [("bob", "a fixture"), ("ada", None), ("ada", None)]
    assert [one.user for one in memory.govern.audit(by="ada")] == ["ada", "ada"]
    assert [one.why for one in memory.govern.audit(by="bob")] == ["a fixture"]
    assert memory.govern.audit(by="eve") == []


@pytest.mark.local
def test_what_a_job_changed_is_not_said_to_be_the_users_doing(clock: SteppingClock) -> None:
    with AgentMemory("ada", clock=clock) as memory:
        aged = clock.now() - timedelta(days=365)
        id = memory.records.add("the coffee was cold", importance=0.05, valid_from=aged).id
        clock.forward(days=40)
        memory.upkeep.run_jobs()
        assert [one.user for one in memory.govern.audit(id)] == ["upkeep", "ada"]
        assert {one.user for one in memory.govern.audit(by="ada")} == {"upkeep", "ada"}


@pytest.mark.local
def test_lines_go_when_receipts_do(clock: Any) -> None:
    with AgentMemory("ada", clock=clock) as memory:
        id = memory.records.add("the port is 8080").id
        memory.records.get(id)
        clock.forward(microseconds=RETENTION // 2)
        memory.records.add("something happened meanwhile")
        memory.records.get(id)
        clock.forward(microseconds=RETENTION // 2 + 1_000_000)
        memory.records.add("and now")
        memory.records.get(id)
        assert len(reads(memory)) == 2


@pytest.mark.local
def test_off_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_ACCESS_LOG", "off")
    with AgentMemory("ada") as memory:
        memory.records.get(memory.records.add("the port is 8080").id)
        assert reads(memory) == []


KILLED = """
import os, signal
from agent_memory import AgentMemory
memory = AgentMemory("ada")
id = memory.records.add("the port is 8080").id
memory.records.get(id, why="the last thing it did")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.local
def test_what_is_durable_survives_kill_9(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_ACCESS_LOG", "durable")
    died = subprocess.run([sys.executable, "-c", KILLED], env=os.environ, timeout=PATIENCE)
    assert died.returncode == -signal.SIGKILL
    with AgentMemory("ada") as memory:
        assert [one.why for one in reads(memory)] == ["the last thing it did"]


def test_readers_at_once_leave_a_line_each(memory: AgentMemory) -> None:
    id = memory.records.add("the port is 8080").id
    readers = [threading.Thread(target=lambda: [memory.records.get(id) for _ in range(20)]) for _ in range(4)]
    for one in readers:
        one.start()
    for one in readers:
        one.join()
    assert len(reads(memory, limit=1000)) == 80
