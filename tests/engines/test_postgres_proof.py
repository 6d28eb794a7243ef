"""What somebody changed behind our back in the database, `verify` names."""

from __future__ import annotations

import pytest
from tests.parts.postgres import Server, server

from agent_memory import AgentMemory
from agent_memory.app.doctor import examine
from agent_memory.models import Link

CHANGES = {
    "update contents set text = 'The moon is made of stone.'": "is not what was written",
    "update contents set payload = '{\"a\": 1}' where content = 1": "is not what was written",
    "update versions set importance = 0.9": "is not what was written",
    "update versions set valid_from = valid_from - 1": "is not what was written",
    "update links set weight = 0.1": "is not what was written",
    "delete from links": "",
    "delete from contents": "versions without a content",
    "delete from versions where version = 1": "",
    "update journal set reason = 'because' where tenant = 1 and seq = 2": "does not follow from the line before it",
    "delete from journal where tenant = 1 and seq = 2": "is missing",
    "update tenants set seq = seq - 1 where tenant = 1": "heads that are not the last line",
    "update vectors set scale = scale * 2": "vectors",
    "update contents set terms = terms || terms": "",
    "delete from vectors": "contents with neither vector nor a place in the queue",
    "update keys set ended_at = null": "key",
    "delete from keys": "key",
    "update receipts set body = '{}'": "receipts",
    "delete from tombstones": "",
}


@pytest.fixture(scope="module")
def uri() -> str:
    """One store for all: each change is taken back."""
    made = server(18).fresh()
    with AgentMemory("ada", store=made) as memory:
        one = memory.records.add("The moon is made of cheese.")
        two = memory.records.add("The sun is made of gas.")
        gone = memory.records.add("Nobody is to know this.")
        memory.records.link(Link(source_id=one.id, target_id=two.id, type="RELATES_TO"))
        memory.records.forget([gone.id])
        memory.recall("what is the moon made of?")
        key = memory.keys.create(label="a key", permissions=["read"])
        memory.keys.revoke(key.id)
    return made


@pytest.fixture
def postgres() -> Server:
    return server(18)


def problems(uri: str) -> tuple[str, ...]:
    with AgentMemory("ada", store=uri) as memory:
        return tuple(memory.upkeep.verify().problems)


def test_nothing_is_wrong_with_it(uri: str) -> None:
    assert problems(uri) == ()
    assert [one for one in examine(uri) if one.state == "fail"] == []


@pytest.mark.requirement("C13")
@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_is_named(uri: str, postgres: Server, change: str) -> None:
    name = uri.rpartition("/")[2]
    postgres.execute(f"create database spare template {name}")
    try:
        spare = postgres.uri("spare")
        counting = f"with gone as ({change} returning 1) select count(*) from gone"
        changed = postgres.execute("set search_path = agent_memory", counting, database="spare")
        assert changed[0][0] > 0, "there was nothing to change"
        found = problems(spare)
        assert found and any(CHANGES[change] in one for one in found), found
    finally:
        postgres.execute("drop database spare")
