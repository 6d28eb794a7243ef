"""A graph that is too large for one write is stored and taken away in several."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from agent_memory import AgentMemory
from agent_memory.core.graph import draw


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch, home: object) -> Iterator[AgentMemory]:
    monkeypatch.setattr(draw, "PART", 8)
    with AgentMemory("ada") as memory:
        yield memory


def entity(name: str, observations: int) -> str:
    told = [f"{name} {one}" for one in range(observations)]
    return json.dumps({"type": "entity", "name": name, "entityType": "thing", "observations": told})


def relation(source: str, target: str) -> str:
    return json.dumps({"type": "relation", "from": source, "to": target, "relationType": "near"})


def test_what_is_loaded_in_parts_is_all_there(memory: AgentMemory) -> None:
    lines = [entity(f"n{one}", one) for one in range(9)] + [relation(f"n{one}", f"n{one + 1}") for one in range(10)]
    done = memory.graph.load("\n".join(lines))
    assert (done.entities, done.observations, done.relations, done.known) == (9, 36, 10, 0)
    again = memory.graph.load("\n".join(lines))
    assert (again.entities, again.observations, again.relations, again.known) == (0, 0, 0, 55)
    found = memory.graph.read()
    assert len(found.relations) == 10
    assert sorted(len(one.observations) for one in found.entities if one.observations) == list(range(1, 9))


def test_a_hub_is_taken_away_in_parts(memory: AgentMemory) -> None:
    memory.graph.load(entity("hub", 30))
    assert memory.graph.delete_entities(["hub"]).success
    assert memory.graph.read().entities == []
    assert memory.records.find(kinds=["fact"]) == []
