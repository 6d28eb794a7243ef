"""The namespaces of a client, one per capability. Each is a class in a module of its name, and loaded when it is first
asked for, by a client or by the table of operations."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_memory.app.namespaces.agents import Agents as Agents
    from agent_memory.app.namespaces.archival import Archival as Archival
    from agent_memory.app.namespaces.blocks import Blocks as Blocks
    from agent_memory.app.namespaces.budget import Budget as Budget
    from agent_memory.app.namespaces.contexts import Contexts as Contexts
    from agent_memory.app.namespaces.embedder import Embedder as Embedder
    from agent_memory.app.namespaces.episodic import Episodic as Episodic
    from agent_memory.app.namespaces.goals import Goals as Goals
    from agent_memory.app.namespaces.govern import Govern as Govern
    from agent_memory.app.namespaces.graph import Graph as Graph
    from agent_memory.app.namespaces.keys import Keys as Keys
    from agent_memory.app.namespaces.knowledge import Knowledge as Knowledge
    from agent_memory.app.namespaces.longterm import Longterm as Longterm
    from agent_memory.app.namespaces.models import Models as Models
    from agent_memory.app.namespaces.operational import Operational as Operational
    from agent_memory.app.namespaces.procedural import Procedural as Procedural
    from agent_memory.app.namespaces.receipts import Receipts as Receipts
    from agent_memory.app.namespaces.records import Records as Records
    from agent_memory.app.namespaces.retriever import Retriever as Retriever
    from agent_memory.app.namespaces.review import Review as Review
    from agent_memory.app.namespaces.rules import Rules as Rules
    from agent_memory.app.namespaces.runs import Runs as Runs
    from agent_memory.app.namespaces.semantic import Semantic as Semantic
    from agent_memory.app.namespaces.sessions import Sessions as Sessions
    from agent_memory.app.namespaces.state import State as State
    from agent_memory.app.namespaces.tasks import Tasks as Tasks
    from agent_memory.app.namespaces.tenants import Tenants as Tenants
    from agent_memory.app.namespaces.toolbox import Toolbox as Toolbox
    from agent_memory.app.namespaces.upkeep import Upkeep as Upkeep
    from agent_memory.app.namespaces.user import User as User
    from agent_memory.app.namespaces.vectors import Vectors as Vectors
    from agent_memory.app.namespaces.working import Working as Working

__all__ = [
    "Agents",
    "Archival",
    "Blocks",
    "Budget",
    "Contexts",
    "Embedder",
    "Episodic",
    "Goals",
    "Govern",
    "Graph",
    "Keys",
    "Knowledge",
    "Longterm",
    "Models",
    "Operational",
    "Procedural",
    "Receipts",
    "Records",
    "Retriever",
    "Review",
    "Rules",
    "Runs",
    "Semantic",
    "Sessions",
    "State",
    "Tasks",
    "Tenants",
    "Toolbox",
    "Upkeep",
    "User",
    "Vectors",
    "Working",
]


def __getattr__(name: str) -> object:
    if name in __all__:
        return getattr(import_module(f"{__name__}.{name.lower()}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
