"""Long-term memory for agents: local-first, exact, explainable and bounded.

from agent_memory import AgentMemory
memory = AgentMemory(user_id="ada")
memory.records.add("The staging database moved to port 5433", kind="observation")
for hit in memory.recall("which port does staging use?"):
    print(hit.text, hit.why)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_memory.app.aio import AsyncAgentMemory as AsyncAgentMemory
    from agent_memory.app.chatting import AsyncMemoryAugmentedAgent as AsyncMemoryAugmentedAgent
    from agent_memory.app.chatting import MemoryAugmentedAgent as MemoryAugmentedAgent
    from agent_memory.app.config import get_settings as get_settings
    from agent_memory.app.embedders import get_embedder as get_embedder
    from agent_memory.app.episodes import CPUMemoryEngine as CPUMemoryEngine
    from agent_memory.app.episodes import MemoryConsolidationService as MemoryConsolidationService
    from agent_memory.app.memory import AgentMemory as AgentMemory
    from agent_memory.app.worker import ConsolidationWorker as ConsolidationWorker
    from agent_memory.models import Entity as Entity
    from agent_memory.models import Fact as Fact
    from agent_memory.models import Goal as Goal
    from agent_memory.models import MemoryBundle as MemoryBundle
    from agent_memory.models import Strategy as Strategy
    from agent_memory.models import Turn as Turn

__version__ = "0.1.0"

_HOMES = {
    "AgentMemory": "agent_memory.app.memory",
    "AsyncAgentMemory": "agent_memory.app.aio",
    "AsyncMemoryAugmentedAgent": "agent_memory.app.chatting",
    "CPUMemoryEngine": "agent_memory.app.episodes",
    "ConsolidationWorker": "agent_memory.app.worker",
    "MemoryAugmentedAgent": "agent_memory.app.chatting",
    "MemoryConsolidationService": "agent_memory.app.episodes",
    "get_embedder": "agent_memory.app.embedders",
    "get_settings": "agent_memory.app.config",
    **dict.fromkeys(("Entity", "Fact", "Goal", "MemoryBundle", "Strategy", "Turn"), "agent_memory.models"),
}

__all__ = [
    "AgentMemory",
    "AsyncAgentMemory",
    "AsyncMemoryAugmentedAgent",
    "CPUMemoryEngine",
    "ConsolidationWorker",
    "Entity",
    "Fact",
    "Goal",
    "MemoryAugmentedAgent",
    "MemoryBundle",
    "MemoryConsolidationService",
    "Strategy",
    "Turn",
    "get_embedder",
    "get_settings",
]


def __getattr__(name: str) -> object:
    """Loaded when first asked for: importing the package costs next to nothing."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
