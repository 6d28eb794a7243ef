"""Readers that are too large for memory: the database looks them up, within the same walls."""

from __future__ import annotations

import pytest
from tests.parts.postgres import Server, server

from agent_memory import AgentMemory

THINGS = "kettle lantern violin anchor ladder compass hammock telescope accordion umbrella".split()
PLACES = "harbour attic greenhouse cellar library stable bakery chapel observatory boathouse".split()


def story(number: int) -> str:
    thing, place = THINGS[number % 10], PLACES[number // 10 % 10]
    return f"On day {number} the {thing} number {number} was moved to the {place} by the north gate."


@pytest.fixture(scope="module")
def postgres() -> Server:
    return server(18)


@pytest.fixture(scope="module")
def filled(postgres: Server) -> str:
    uri = postgres.fresh()
    with AgentMemory("ada", store=uri, tenant="acme") as memory:
        memory.records.add_many([{"text": story(number), "id": f"s{number}"} for number in range(300)], embed=True)
    with AgentMemory("bob", store=uri, tenant="acme") as memory:
        memory.records.add("The canary of Bob sings in the attic.", id="bobs")
    with AgentMemory("ada", store=uri, tenant="rival") as memory:
        memory.records.add("The canary of the rival sings in the attic.", id="rivals")
    return uri


def opened(
    uri: str, monkeypatch: pytest.MonkeyPatch, lines: int, user: str = "ada", tenant: str = "acme"
) -> AgentMemory:
    monkeypatch.setenv("AGENT_MEMORY_SHELF_LINES", str(lines))
    return AgentMemory(user, store=uri, tenant=tenant)


def test_the_same_answers_as_in_memory(filled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    questions = ["Where is the violin number 42?", "Which thing went to the boathouse?", "telescope number 137"]
    with opened(filled, monkeypatch, 10_000) as memory:
        exact = [memory.recall(one, k=5) for one in questions]
        assert not any(one.approximate for one in exact)
    with opened(filled, monkeypatch, 50) as memory:
        before = memory.recall(questions[0], k=5)
        assert not before.approximate and before[0].id == exact[0][0].id
        memory.upkeep.run_jobs()
        found = [memory.recall(one, k=5) for one in questions]
    assert all(one.approximate for one in found)
    assert [one[0].id for one in found] == [one[0].id for one in exact]
