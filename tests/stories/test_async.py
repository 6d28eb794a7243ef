"""`AsyncAgentMemory` mirrors the whole client."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from agent_memory import AgentMemory, AsyncAgentMemory, Turn
from agent_memory.models.errors import NotFound


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
