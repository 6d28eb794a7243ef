"""The nouns: what is stored, asked and answered. No I/O here.

Each is loaded when it is first asked for: who needs the nouns of rules alone does not wait for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_memory.models.bundle import MemoryBundle as MemoryBundle
    from agent_memory.models.bundle import RetrievalWeights as RetrievalWeights
    from agent_memory.models.context import Chunk as Chunk
    from agent_memory.models.context import Context as Context
    from agent_memory.models.draft import Draft as Draft
    from agent_memory.models.embedding import MemoryIndex as MemoryIndex
    from agent_memory.models.kinds.conversation import Turn as Turn
    from agent_memory.models.kinds.experience import Strategy as Strategy
    from agent_memory.models.kinds.experience import ToolCall as ToolCall
    from agent_memory.models.kinds.kind import Kind as Kind
    from agent_memory.models.kinds.knowledge import Entity as Entity
    from agent_memory.models.kinds.knowledge import Fact as Fact
    from agent_memory.models.kinds.person import Expertise as Expertise
    from agent_memory.models.kinds.person import Interest as Interest
    from agent_memory.models.kinds.person import Preference as Preference
    from agent_memory.models.kinds.work import Goal as Goal
    from agent_memory.models.record import JournalLine as JournalLine
    from agent_memory.models.record import Link as Link
    from agent_memory.models.record import Record as Record
    from agent_memory.models.record import Scope as Scope
    from agent_memory.models.record import Status as Status

_HOMES = {
    "Chunk": "context",
    "Context": "context",
    "Draft": "draft",
    "Entity": "kinds.knowledge",
    "Expertise": "kinds.person",
    "Fact": "kinds.knowledge",
    "Goal": "kinds.work",
    "Interest": "kinds.person",
    "JournalLine": "record",
    "Kind": "kinds.kind",
    "Link": "record",
    "MemoryBundle": "bundle",
    "MemoryIndex": "embedding",
    "Preference": "kinds.person",
    "Record": "record",
    "RetrievalWeights": "bundle",
    "Scope": "record",
    "Status": "record",
    "Strategy": "kinds.experience",
    "ToolCall": "kinds.experience",
    "Turn": "kinds.conversation",
}

__all__ = [
    "Chunk",
    "Context",
    "Draft",
    "Entity",
    "Expertise",
    "Fact",
    "Goal",
    "Interest",
    "JournalLine",
    "Kind",
    "Link",
    "MemoryBundle",
    "MemoryIndex",
    "Preference",
    "Record",
    "RetrievalWeights",
    "Scope",
    "Status",
    "Strategy",
    "ToolCall",
    "Turn",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
