"""What the knowledge graph of the official MCP memory server is made of here: drafts, and the keys they have."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime

from agent_memory.core.write.commit import SELF
from agent_memory.core.write.normalise import OBSERVED
from agent_memory.models.draft import Draft
from agent_memory.models.graph import Node
from agent_memory.models.kinds.kind import fold
from agent_memory.models.kinds.knowledge import Entity
from agent_memory.models.record import Link, Status

ABOUT = "ABOUT"
MENTIONED = "mentioned"
"""The type of an archived entity that nobody created: a relation names it. Nothing shows it but that relation."""


def observation(entity_id: str, text: str) -> Draft:
    """The same text about the same entity is the same fact."""
    return Draft(
        kind="fact",
        text=text,
        payload={"entity_ids": [entity_id]},
        key=f"{OBSERVED}{entity_id} {_digest(text)}",
        source="extraction",
        confidence=0.8,
        links=(Link(source_id=SELF, target_id=entity_id, type=ABOUT),),
    )


def mention(name: str, now: datetime) -> Draft:
    """An entity that a relation names, and nobody has created."""
    entity = Entity(name=name, type=MENTIONED, first_seen=now)
    return replace(entity.draft(), key=mention_key(name), status=Status.ARCHIVED)


def mention_key(name: str) -> str:
    return f"graph mentioned {_digest(name)}"


def spelled_key(node: Node) -> str:
    """Of an entity whose usual key belongs to another spelling of its name."""
    return f"graph spelled {_digest(node.name)} {_digest(fold(node.entity_type))}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()
