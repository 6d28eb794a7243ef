"""Several agents on one store at once, each with an `agent-memory mcp` of its own. Nothing is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import stdio_client
from talking import program, told

from agent_memory import AgentMemory

AGENTS = 4


async def writing(name: str, count: int) -> list[str]:
    """Notes of one agent; gives their ids as the server acknowledged them."""
    async with Client(stdio_client(program("--user", "ada"))) as client:
        return [
            told(await client.call_tool("add", {"text": f"{name} writes note {number}"}))["result"]["id"]
            for number in range(count)
        ]


async def observing(name: str, count: int) -> None:
    """All write about one entity, which each of them tries to create, with the tools of the official server."""
    async with Client(stdio_client(program("--user", "ada", "--compat"))) as client:

        async def call(tool: str, **given: Any) -> None:
            result = await client.call_tool(tool, given)
            assert not result.is_error, result.content

        await call("create_entities", entities=[{"name": "Project", "entityType": "thing", "observations": []}])
        for number in range(count):
            said = {"entityName": "Project", "contents": [f"{name} saw {number}", f"everybody saw {number}"]}
            await call("add_observations", observations=[said])


def together(work: Any, count: int) -> list[Any]:
    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(work(f"agent-{number}", count) for number in range(AGENTS)))

    return asyncio.run(all_of_them())


def notes(count: int) -> None:
    acknowledged = [id for ids in together(writing, count) for id in ids]
    assert len(set(acknowledged)) == AGENTS * count
    with AgentMemory("ada") as memory:
        kept = {record.id: record.text for record in memory.records.find(limit=10_000)}
        assert set(acknowledged) == set(kept)
        assert set(kept.values()) == {
            f"agent-{one} writes note {number}" for one in range(AGENTS) for number in range(count)
        }
        assert memory.upkeep.verify().ok
        assert memory.upkeep.stats()["pending_vectors"] == 0


def observations(count: int) -> None:
    together(observing, count)
    with AgentMemory("ada") as memory:
        (entity,) = memory.graph.read().entities
        own = {f"agent-{one} saw {number}" for one in range(AGENTS) for number in range(count)}
        assert sorted(entity.observations) == sorted(own | {f"everybody saw {number}" for number in range(count)})
        assert memory.upkeep.verify().ok


def test_four_agents_write_and_nothing_is_lost() -> None:
    notes(25)


def test_four_agents_with_the_tools_of_the_official_server() -> None:
    observations(10)


@pytest.mark.soak
def test_four_agents_write_five_hundred_notes_each() -> None:
    notes(500)


@pytest.mark.soak
def test_four_agents_with_the_tools_of_the_official_server_for_long() -> None:
    observations(250)
