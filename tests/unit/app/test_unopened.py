"""A client that opens its store when something is asked of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.app import config
from agent_memory.models.errors import AgentMemoryError, InvalidInput
from agent_memory.models.record import Scope

ADA = Scope(tenant="default", user="ada")


def test_files_alone_need_no_store(home: Path) -> None:
    memory = AgentMemory.unopened(config.load(), ADA)
    assert memory.rules.lint().pages == []
    memory.close()
    assert not home.exists()
    with pytest.raises(AgentMemoryError, match="closed"):
        memory.rules.lint()


def test_what_needs_the_store_opens_it(home: Path) -> None:
    with AgentMemory.unopened(config.load(), ADA, "c1") as memory:
        added = memory.records.add("staging listens on 5433")
        memory.set_working_context("step", 2)
    with AgentMemory(user_id="ada", conversation_id="c1") as memory:
        assert memory.records.get(added.id).text == "staging listens on 5433"
        assert memory.get_working_context().get("step") is None, "closing cleared its desk"


def test_files_alone_need_no_server_either() -> None:
    with AgentMemory.unopened(config.load(store="http://127.0.0.1:9"), ADA) as memory:
        assert memory.rules.lint().ok
    with pytest.raises(InvalidInput):
        AgentMemory(user_id="ada", store="http://")
