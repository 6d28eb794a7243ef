"""Over many sessions: what was asked, how long it took, what it cost, by day, user and agent. P9, P16."""

from __future__ import annotations

from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.models.errors import InvalidInput


def asked(clock: Any, user: str, agent: str, *questions: str) -> None:
    with AgentMemory(user_id=user, agent=agent, clock=clock) as memory:
        for question in questions:
            memory.recall(question)


@pytest.mark.requirement("P9", "P16")
def test_recalls_can_be_looked_through(timed: AgentMemory, clock: Any) -> None:
    timed.records.add("staging listens on port 5433")
    first = clock.forward(days=1)
    timed.recall("which port?", k=1)
    clock.forward(days=1)
    timed.assemble_context("connect to staging", 200)
    timed.recall("staging", recipe="meaning")
    found = timed.receipts.find()
    assert [one.query for one in found] == ["staging", "connect to staging", "which port?"]
    assert [one.recipe for one in found] == ["meaning", "context", "default"]
    assert [one.hits for one in found] == [1, 1, 1] and found[2].at == first
    assert all(one.tokens and one.money == 0.0 and one.milliseconds > 0 for one in found)
    assert found[1].context_tokens and found[0].context_tokens is None
    assert [one.query for one in timed.receipts.find(since=clock.now())] == ["staging", "connect to staging"]
    assert timed.receipts.find(slower_than=1e9) == [] and len(timed.receipts.find(limit=1)) == 1
    clock.forward(days=8)
    assert timed.receipts.find() == [], "the last seven days, unless said"
    assert timed.receipts.get(found[0].receipt_id)["query"] == "staging"


@pytest.mark.requirement("P9", "P16")
def test_costs_of_a_tenant(clock: Any) -> None:
    with AgentMemory(user_id="operator", clock=clock) as memory:
        memory.records.add("x")  # in an empty store nothing is embedded
    asked(clock, "ada", "*", "one", "two")
    asked(clock, "ada", "robot", "three")
    clock.forward(days=1)
    asked(clock, "bob", "*", "four")
    with AgentMemory(user_id="eve", tenant="zeta", clock=clock) as stranger:
        stranger.recall("five")
        assert [one.recalls for one in stranger.receipts.costs()] == [1]
    with AgentMemory(user_id="operator", clock=clock) as memory:
        assert {one.of: one.recalls for one in memory.receipts.costs()} == {"2026-03-03": 1, "2026-03-02": 3}
        assert {one.of: one.recalls for one in memory.receipts.costs(by="user")} == {"ada": 3, "bob": 1}
        assert {one.of: one.recalls for one in memory.receipts.costs(by="agent")} == {"*": 3, "robot": 1}
        (day,) = memory.receipts.costs(since=clock.now())
        assert day.tokens > 0 and day.money == 0.0 and day.unpriced == 0 and 0 < day.p50_ms <= day.p95_ms
        assert memory.receipts.find() == [], "what others asked is theirs"


def test_what_was_forgotten_is_not_listed(timed: AgentMemory) -> None:
    id = timed.records.add("the password is hunter2").id
    timed.recall("hunter2 password")
    timed.records.forget([id])
    assert timed.receipts.find() == []


def test_bad_limits(timed: AgentMemory) -> None:
    for limit in (0, 1001):
        with pytest.raises(InvalidInput) as error:
            timed.receipts.find(limit=limit)
        assert error.value.field == "limit"
