"""What the tiers answer when they are searched: items with a relevance, absolute, so that they merge. T2, T3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from agent_memory.models.model import Model

Collection = Literal["decisions", "incidents", "procedures", "knowledge"]
ARCHIVES: tuple[Collection, ...] = ("decisions", "incidents", "procedures")
COLLECTIONS: Mapping[str, Collection] = {
    "decision": "decisions",
    "incident": "incidents",
    "procedure": "procedures",
    "fact": "knowledge",
    "entity": "knowledge",
    "document_chunk": "knowledge",
}
"""In which collection a kind is."""


class Relevant(Model):
    """Something that may help with a task: which record it is, what it says in a line, and how well it fits, 0 to 1."""

    id: str
    kind: str
    summary: str
    relevance: float


class Found(Model):
    """What a search over collections found. `metadata` is the record's id, its moment, its status and its payload."""

    content: str
    metadata: dict[str, Any]
    relevance: float
    collection: Collection


class Procedure(Model):
    """A procedure as it is stored: what is done, in which steps."""

    id: str
    name: str
    description: str
    steps: list[str]
