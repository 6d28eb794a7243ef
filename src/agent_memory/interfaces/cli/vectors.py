"""Vectors that bulk writes leave for later: made at once where that can be watched, or else told about."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.models.size import counted

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory

HOW = f"`{PROGRAM} upkeep catch-up` makes them"


def finished(memory: AgentMemory, *, later: bool) -> tuple[int, str]:
    """Make those that are missing, unless they are wanted `later`; how many still wait, and what to say about it.

    A server makes them by itself. What an embedder that is out of reach cannot make is no reason to fail: all that was
    imported is in the store, and found by its words."""
    from agent_memory.app.remote import is_remote
    from agent_memory.models.errors import AgentMemoryError

    away = is_remote(memory._client.settings.store_url)
    trouble = ""
    if not later and not away:
        try:
            memory.upkeep.catch_up()
        except AgentMemoryError as error:
            trouble = f" ({error.message})"
    left = 0
    with suppress(AgentMemoryError):  # of a key that may only write
        left = memory.upkeep.stats()["pending_vectors"]
    how = "the server makes them in the background" if away else HOW
    waiting = counted(left, "memory", "memories")
    return left, f"{waiting} still without a vector, found by words alone until then{trouble}; {how}"


def searched_without(pending: int) -> str:
    """What a recall says of memories that it could not compare by meaning."""
    return f"{counted(pending, 'memory', 'memories')} had no vector yet, searched by words alone; {HOW}"
