"""A policy that does not take a model's word for the user's: what comes through a door waits. P8, P23."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from agent_memory import AgentMemory
from agent_memory.app import config
from agent_memory.app.service import Service
from agent_memory.interfaces.mcp.latent import mount
from agent_memory.interfaces.rest.app import create_app
from agent_memory.models.errors import InvalidInput

pytestmark = pytest.mark.requirement("P8")
ACCEPT = {"accept": "application/json, text/event-stream"}
FORCE = {"kind": "preference", "domain": "git", "name": "push", "value": "--force"}


@pytest.fixture
def web(home: Path) -> Iterator[TestClient]:
    service = Service(config.load())
    app = create_app(service)
    mount(app, service, app.state.identify)
    with TestClient(app, "http://localhost:8005", client=("127.0.0.1", 4711)) as client:
        yield client
    service.close()


@pytest.fixture
def memory(web: TestClient) -> Iterator[AgentMemory]:
    with AgentMemory("default") as opened:
        yield opened


def saved(web: TestClient, **arguments: Any) -> str:
    """What the tool of a model answers."""
    call = {"name": "save", "arguments": arguments}
    said = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    return web.post("/mcp", json=said, headers=ACCEPT).text


def test_a_model_is_not_taken_for_the_user_where_the_policy_names_its_door(
    web: TestClient, memory: AgentMemory
) -> None:
    memory.user.set_preference("git", "push", "plain")
    memory.review.set_policy([{"door": "mcp", "kind": "preference"}])
    for _ in range(2):  # the second time it waits already
        assert r"\"held\":true" in saved(web, **FORCE)
    assert memory.user.get_preference("git", "push") == "plain"
    (waiting,) = memory.review.list()
    assert (waiting.in_force, waiting.source) == ("git: push: plain", "user_stated")
    memory.review.approve(waiting.id)
    assert memory.user.get_preference("git", "push") == "--force"


def test_nor_for_what_it_makes_of_a_text(web: TestClient, memory: AgentMemory) -> None:
    memory.review.set_policy([{"door": "rest", "kind": "fact"}])
    said = web.post("/v1/extract", json={"text": "I live in Rome."}).json()
    assert [fact["held"] for fact in said["facts"]] == [True] and memory.records.find("fact") == []
    memory.upkeep.extract(text="I live in Paris.")
    assert [fact.text for fact in memory.records.find("fact")] == ["default lives in Paris"]


def test_other_doors_and_kinds_are_as_before(web: TestClient, memory: AgentMemory) -> None:
    memory.review.set_policy([{"door": "mcp", "kind": "preference"}, {"kind": "preference"}])
    said = {"domain": "git", "name": "push", "value": "plain"}
    assert web.put("/v1/preferences", json=said).json()["held"] is False
    saved(web, text="the printer is on the third floor", kind="note")
    assert memory.user.set_preference("git", "editor", "vi").held is False
    assert memory.review.list() == []


def test_a_door_that_others_do_not_come_by_is_refused(memory: AgentMemory) -> None:
    with pytest.raises(InvalidInput, match=r"rules\.0\.door"):
        memory.review.set_policy([{"door": "cli"}])
