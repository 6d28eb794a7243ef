"""`AsyncAgentMemory` mirrors the whole client."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys

import pytest

from agent_memory import AgentMemory, AsyncAgentMemory, Turn
from agent_memory.models import RetrievalWeights
from agent_memory.models.errors import NotFound, StoreError
from patience import PATIENCE


@pytest.mark.requirement("C1")
def test_the_mirror_does_what_the_original_does() -> None:
    async def story() -> None:
        async with AsyncAgentMemory(user_id="ada", conversation_id="c1") as memory:
            await memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content="the pager went off"))
            await asyncio.gather(*(memory.records.add(f"note {number}") for number in range(10)))
            found, bundle = await asyncio.gather(memory.recall("pager"), memory.remember("pager"))
            assert found[0].text == "the pager went off"
            assert bundle.relevant_turns[0]["content"] == "the pager went off"
            assert len(await memory.embedder.embed_single("x")) == 384
            assert memory.conversation_id == "c1" and memory.user_id == "ada"
            with pytest.raises(NotFound):
                await memory.records.get("nobody")

    asyncio.run(story())


def test_plain_attributes_are_those_of_the_original() -> None:
    async def story() -> None:
        async with AsyncAgentMemory(user_id="ada") as memory:
            await memory.records.add("the pager went off", kind="observation")
            await memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content="the pager went off"))
            assert memory.retriever.weights.episodic == 0.3
            memory.retriever.weights.episodic = 0.0
            assert (await memory.remember("pager")).relevant_turns == []
            memory.retriever.weights = RetrievalWeights(episodic=1.0)
            assert (await memory.remember("pager")).relevant_turns != []
            with pytest.raises(AttributeError):
                _ = memory.retriever.no_such_thing

    asyncio.run(story())


def test_closing_twice_and_calling_afterwards() -> None:
    async def story() -> None:
        memory = AsyncAgentMemory(user_id="ada")
        await memory.records.add("x")
        await memory.close()
        await memory.close()
        with pytest.raises(StoreError, match="closed"):
            await memory.recall("x")
        await memory.close()

    asyncio.run(story())


FORKED = """
import asyncio, os, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agent_memory import AsyncAgentMemory
memory = AsyncAgentMemory(user_id="ada")

async def several(name):
    await asyncio.gather(*(memory.records.add(f"{name} {number}") for number in range(8)))
    return len((await memory.recall(name, k=20)).hits)

assert asyncio.run(several("parent")) == 8
child = os.fork()
if not child:
    os._exit(0 if asyncio.run(several("child")) == 16 else 1)
assert os.waitpid(child, 0)[1] == 0
"""


def test_a_fork_is_survived() -> None:
    ran = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr


def test_nothing_is_missing() -> None:
    def public(thing: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(thing, inspect.isfunction) if not name.startswith("_")}

    assert public(AgentMemory) == public(AsyncAgentMemory)
    with AgentMemory(user_id="ada") as sync:
        parts = {name for name in vars(sync) if not name.startswith("_")}
        mirror = AsyncAgentMemory(user_id="ada")
        for name in parts:
            assert public(type(getattr(sync, name))) == public(type(getattr(mirror, name))), name
        asyncio.run(mirror.close())
