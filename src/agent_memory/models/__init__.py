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
    from agent_memory.models.kinds.agent import ActionProposal as ActionProposal
    from agent_memory.models.kinds.agent import ActionResult as ActionResult
    from agent_memory.models.kinds.agent import Agent as Agent
    from agent_memory.models.kinds.agent import AgentCycle as AgentCycle
    from agent_memory.models.kinds.agent import MemoryRecord as MemoryRecord
    from agent_memory.models.kinds.conversation import Conversation as Conversation
    from agent_memory.models.kinds.conversation import Turn as Turn
    from agent_memory.models.kinds.decisions import ConfigChange as ConfigChange
    from agent_memory.models.kinds.decisions import Decision as Decision
    from agent_memory.models.kinds.decisions import Happening as Happening
    from agent_memory.models.kinds.decisions import Incident as Incident
    from agent_memory.models.kinds.experience import Strategy as Strategy
    from agent_memory.models.kinds.experience import ToolCall as ToolCall
    from agent_memory.models.kinds.kind import Kind as Kind
    from agent_memory.models.kinds.knowledge import Entity as Entity
    from agent_memory.models.kinds.knowledge import Fact as Fact
    from agent_memory.models.kinds.operational import Event as Event
    from agent_memory.models.kinds.patterns import AgentState as AgentState
    from agent_memory.models.kinds.patterns import Pattern as Pattern
    from agent_memory.models.kinds.person import Expertise as Expertise
    from agent_memory.models.kinds.person import Interest as Interest
    from agent_memory.models.kinds.person import Preference as Preference
    from agent_memory.models.kinds.run import Run as Run
    from agent_memory.models.kinds.run import RunStep as RunStep
    from agent_memory.models.kinds.talk import MemoryBlock as MemoryBlock
    from agent_memory.models.kinds.tools import Tool as Tool
    from agent_memory.models.kinds.work import Claim as Claim
    from agent_memory.models.kinds.work import Goal as Goal
    from agent_memory.models.kinds.work import Task as Task
    from agent_memory.models.record import JournalLine as JournalLine
    from agent_memory.models.record import Link as Link
    from agent_memory.models.record import Record as Record
    from agent_memory.models.record import Scope as Scope
    from agent_memory.models.record import Status as Status
    from agent_memory.models.session import FoundMemory as FoundMemory
    from agent_memory.models.session import FoundTurn as FoundTurn
    from agent_memory.models.session import Rendered as Rendered

_HOMES = {
    "ActionProposal": "kinds.agent",
    "ActionResult": "kinds.agent",
    "Agent": "kinds.agent",
    "AgentCycle": "kinds.agent",
    "AgentState": "kinds.patterns",
    "MemoryBlock": "kinds.talk",
    "Chunk": "context",
    "Claim": "kinds.work",
    "ConfigChange": "kinds.decisions",
    "Context": "context",
    "Conversation": "kinds.conversation",
    "Decision": "kinds.decisions",
    "Draft": "draft",
    "Entity": "kinds.knowledge",
    "Expertise": "kinds.person",
    "Event": "kinds.operational",
    "Fact": "kinds.knowledge",
    "FoundMemory": "session",
    "FoundTurn": "session",
    "Goal": "kinds.work",
    "Happening": "kinds.decisions",
    "Incident": "kinds.decisions",
    "Interest": "kinds.person",
    "JournalLine": "record",
    "Kind": "kinds.kind",
    "Link": "record",
    "MemoryBundle": "bundle",
    "MemoryIndex": "embedding",
    "MemoryRecord": "kinds.agent",
    "Pattern": "kinds.patterns",
    "Preference": "kinds.person",
    "Record": "record",
    "Rendered": "session",
    "RetrievalWeights": "bundle",
    "Run": "kinds.run",
    "RunStep": "kinds.run",
    "Scope": "record",
    "Status": "record",
    "Strategy": "kinds.experience",
    "Task": "kinds.work",
    "Tool": "kinds.tools",
    "ToolCall": "kinds.experience",
    "Turn": "kinds.conversation",
}

__all__ = [
    "ActionProposal",
    "ActionResult",
    "Agent",
    "AgentCycle",
    "AgentState",
    "Chunk",
    "ConfigChange",
    "Context",
    "Conversation",
    "Decision",
    "Draft",
    "Entity",
    "Event",
    "Expertise",
    "Fact",
    "FoundMemory",
    "FoundTurn",
    "Goal",
    "Happening",
    "Incident",
    "Interest",
    "JournalLine",
    "Kind",
    "Link",
    "MemoryBlock",
    "MemoryBundle",
    "MemoryIndex",
    "MemoryRecord",
    "Pattern",
    "Preference",
    "Record",
    "Rendered",
    "RetrievalWeights",
    "Run",
    "RunStep",
    "Scope",
    "Status",
    "Strategy",
    "Task",
    "Tool",
    "ToolCall",
    "Turn",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
