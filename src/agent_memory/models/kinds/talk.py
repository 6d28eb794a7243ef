"""What an agent's loop holds in its prompt: blocks, which it edits itself, and a conversation under a limit. E9."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from agent_memory.models.kinds.kind import Kind, joined_key
from agent_memory.models.limits import BlockLimit
from agent_memory.models.model import Model, Moment, Name, Text
from agent_memory.models.record import SHARED, Record

BLOCK_LIMIT = 5000
EXTRACTED = "extract"


class BlockPayload(Model):
    """`restores` is the version that this one brought back, where it came from an undo."""

    label: Name
    description: Text | None = None
    limit: BlockLimit = BLOCK_LIMIT
    read_only: bool = False
    restores: int | None = None


class MemoryBlock(BlockPayload):
    """A named piece of text that is always in the prompt. `limit` counts characters. `shared`: all agents of the user
    see and edit it; otherwise it belongs to one agent. `version` counts its edits, undone ones included."""

    id: Name
    text: Text
    shared: bool
    version: int
    updated_at: Moment

    @classmethod
    def of(cls, record: Record) -> MemoryBlock:
        return cls(
            id=record.id,
            text=record.text,
            shared=record.scope.agent == SHARED,
            version=record.version,
            updated_at=record.recorded_at,
            **record.payload,
        )


class Pick(Model):
    """A stretch of a turn, by its place: the words stay in the turn alone."""

    turn_id: Name
    version: int
    start: int
    end: int


class SessionPayload(Model):
    """How far a conversation is paged out, and what its summary is made of: `picks`, the most important first, or a
    text that a model wrote, whose name is `made_by`."""

    conversation_id: Name
    upto: int = Field(ge=0)
    turns: int = Field(ge=0)
    made_by: Name = EXTRACTED
    picks: list[Pick] = Field(default_factory=list)


def _limit(payload: dict[str, Any]) -> int:
    return int(payload["limit"])


KINDS = (
    Kind(
        "block",
        "blocks",
        BlockPayload,
        key=lambda text, payload: joined_key(payload["label"]),
        indexed=("label",),
        needs_text=False,
        searchable=False,
        tier="working",
        longest=_limit,
    ),
    Kind(
        "session",
        "sessions",
        SessionPayload,
        key=lambda text, payload: payload["conversation_id"],  # ids are opaque: another case is another conversation
        needs_text=False,
        searchable=False,
        tier="working",
        retells=True,
    ),
)
