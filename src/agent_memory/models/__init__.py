"""The nouns: what is stored, asked and answered. No I/O here."""

from agent_memory.models.bundle import MemoryBundle
from agent_memory.models.context import Chunk, Context
from agent_memory.models.draft import Draft
from agent_memory.models.kinds.conversation import Turn
from agent_memory.models.kinds.experience import Strategy, ToolCall
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.kinds.knowledge import Entity, Fact
from agent_memory.models.kinds.person import Expertise, Interest, Preference
from agent_memory.models.kinds.work import Goal
from agent_memory.models.record import JournalLine, Link, Record, Scope, Status

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
    "Preference",
    "Record",
    "Scope",
    "Status",
    "Strategy",
    "ToolCall",
    "Turn",
]
