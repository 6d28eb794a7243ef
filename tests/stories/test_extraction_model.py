"""A chat model reads what the rules made nothing of, if the settings say so. C18."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.app.doctor import examine
from agent_memory.testing.wire import CannedAnswer, FakeOpenAI

pytestmark = [pytest.mark.requirement("C18"), pytest.mark.local]
BILLS = "Invoices above ten thousand get a second signature from Greta."
SAID = f"I live in Berlin. {BILLS} Does Otto know?"
SIGNED = {
    "quote": BILLS,
    "subject": "Invoices above ten thousand",
    "predicate": "need",
    "object": "a second signature from Greta",
    "negated": False,
    "single": False,
    "confidence": 1.0,
}


@pytest.fixture
def service(home: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """Whose model the settings name, and let read."""
    with FakeOpenAI() as running:
        monkeypatch.setenv("AGENT_MEMORY_CHAT_PROVIDER", "openai")
        monkeypatch.setenv("AGENT_MEMORY_CHAT_MODEL", "m")
        monkeypatch.setenv("AGENT_MEMORY_CHAT_URL", running.url)
        monkeypatch.setenv("AGENT_MEMORY_EXTRACT", "model")
        yield running


def says(service: FakeOpenAI, *claims: dict[str, Any]) -> None:
    service.say = lambda body: {"content": json.dumps({"claims": claims})}


def test_it_is_asked_for_the_statements_that_the_rules_made_nothing_of(service: FakeOpenAI) -> None:
    says(service, SIGNED)
    with AgentMemory("ada", "c1") as memory:
        turn = memory.episodic.append("c1", "user", SAID)
        made = memory.upkeep.extract("c1")
        facts = {one.claim: one for one in made.facts}
        claim = "Invoices above ten thousand need a second signature from Greta"
        assert {*facts} == {"ada lives in Berlin", claim} and made.made_by == "rules, model:m"
        assert facts[claim].confidence == 0.8 and not facts[claim].held
        (link,) = [one for one in memory.records.links(facts[claim].id) if one.type == "DERIVED_FROM"]
        assert link.target_id == turn.id and link.properties["by"] == "model:m"
        assert turn.content[link.properties["start"] : link.properties["end"]] == BILLS
        (request,) = service.requests
        sent = request.body["messages"][-1]["content"]
        assert BILLS in sent and "Berlin" not in sent and "Otto" not in sent
        assert request.body["response_format"]["type"] == "json_schema"
        assert memory.upkeep.extract("c1").facts == [] and memory.upkeep.verify().ok


@pytest.mark.parametrize(
    "wrong",
    [
        {"quote": "Invoices need a signature"},
        {"quote": "I live in Berlin."},
        {"quote": "Does Otto know?"},
        {"quote": " "},
        {"object": "a third signature"},
        {"subject": ""},
        {"predicate": "x" * 300},
    ],
)
def test_what_the_turn_does_not_say_is_dropped(service: FakeOpenAI, wrong: dict[str, Any]) -> None:
    says(service, {**SIGNED, **wrong})
    with AgentMemory("ada", "c1") as memory:
        made = memory.upkeep.extract(text=SAID)
        assert [one.claim for one in made.facts] == ["ada lives in Berlin"] and made.made_by == "rules"


def test_what_it_is_not_sure_of_waits(service: FakeOpenAI) -> None:
    says(service, {**SIGNED, "confidence": 0.5})
    with AgentMemory("ada", "c1") as memory:
        (fact,) = memory.upkeep.extract(text=BILLS).facts
        assert fact.held and memory.review.show(fact.id).why == "its confidence is below the threshold"


@pytest.mark.parametrize("broken", ["no JSON", "[]", '{"claims": [{"quote": 1}]}'])
def test_an_answer_of_another_shape_is_asked_for_once_more(service: FakeOpenAI, broken: str) -> None:
    answers = [broken, json.dumps({"claims": [SIGNED]}), broken, broken]
    service.say = lambda body: {"content": answers[len(service.requests) - 1]}
    with AgentMemory("ada", "c1") as memory:
        assert len(memory.upkeep.extract(text=BILLS).facts) == 1 and len(service.requests) == 2
        made = memory.upkeep.extract(text=f"{SAID} {BILLS}")
        assert [one.claim for one in made.facts] == ["ada lives in Berlin"] and len(service.requests) == 4


def test_a_spent_budget_leaves_the_rules(service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_CHAT_CALLS_A_DAY", "0")
    with AgentMemory("ada", "c1") as memory:
        made = memory.upkeep.extract(text=SAID)
        assert [one.claim for one in made.facts] == ["ada lives in Berlin"]
        assert service.requests == [] and memory.models.usage().usage[0].refused == 1


def test_a_model_that_is_away_is_not_asked_for_every_turn(service: FakeOpenAI) -> None:
    service.troubles.extend([CannedAnswer(401, {"error": {"message": "no such key"}})])
    with AgentMemory("ada", "c1") as memory:
        for number in range(3):
            memory.episodic.append("c1", "user", f"{BILLS} And number {number}.")
        assert memory.upkeep.extract("c1").turns == 3 and len(service.requests) == 1


def test_the_job_asks_on_the_account_of_whose_talk_it_is(service: FakeOpenAI, clock: Any) -> None:
    says(service, SIGNED)
    with AgentMemory("ada", "c1", clock=clock) as memory:
        memory.episodic.append("c1", "user", SAID)
        clock.forward(minutes=6)
        assert memory.upkeep.run_jobs()["consolidate"]["facts"] == 2
        assert memory.upkeep.run_jobs()["consolidate"]["turns"] == 0
        assert len(service.requests) == 1  # a turn is read once
        (row,) = memory._client.runtime.store.spending.since("2000-01-01")
        assert (row.user, row.operation, row.calls) == ("ada", "jobs.consolidate", 1)


def test_nobody_is_asked_unless_the_settings_say_so(service: FakeOpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_MEMORY_EXTRACT")
    with AgentMemory("ada", "c1") as memory:
        memory.upkeep.extract(text=SAID)
    assert service.requests == []


def test_without_a_model_the_rules_read_alone_and_the_doctor_says_so(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MEMORY_EXTRACT", "model")
    with AgentMemory("ada", "c1") as memory:
        assert [one.claim for one in memory.upkeep.extract(text=SAID).facts] == ["ada lives in Berlin"]
    (found,) = [one for one in examine() if one.name == "extract"]
    assert found.state == "warn" and "no chat model" in found.detail
