"""The namespaces of a client, one per capability. Importing this fills the table of operations."""

from agent_memory.app.namespaces.contexts import Contexts
from agent_memory.app.namespaces.embedder import Embedder
from agent_memory.app.namespaces.episodic import Episodic
from agent_memory.app.namespaces.goals import Goals
from agent_memory.app.namespaces.graph import Graph
from agent_memory.app.namespaces.keys import Keys
from agent_memory.app.namespaces.procedural import Procedural
from agent_memory.app.namespaces.receipts import Receipts
from agent_memory.app.namespaces.records import Records
from agent_memory.app.namespaces.retriever import Retriever
from agent_memory.app.namespaces.rules import Rules
from agent_memory.app.namespaces.semantic import Semantic
from agent_memory.app.namespaces.tenants import Tenants
from agent_memory.app.namespaces.upkeep import Upkeep
from agent_memory.app.namespaces.user import User
from agent_memory.app.namespaces.vectors import Vectors
from agent_memory.app.namespaces.working import Working

__all__ = [
    "Contexts",
    "Embedder",
    "Episodic",
    "Goals",
    "Graph",
    "Keys",
    "Procedural",
    "Receipts",
    "Records",
    "Retriever",
    "Rules",
    "Semantic",
    "Tenants",
    "Upkeep",
    "User",
    "Vectors",
    "Working",
]
