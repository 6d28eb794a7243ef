"""Conversations: turns, in order. C2."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.model import Model, Moment, Name, Stored, Text, now_utc
from agent_memory.models.record import Record

Role = Literal["user", "assistant", "system", "tool"]


class TurnPayload(Model):
    index: int = Field(ge=0, lt=2**53)
    role: Role
    speaker: Name | None = None
    token_count: int | None = Field(default=None, ge=0)
    metadata: dict[str, Any] = Field(default_factory=dict)


class Turn(TurnPayload, Stored):
    """One utterance. Storing the same conversation and index again corrects it."""

    conversation_id: Name
    content: Text
    timestamp: Moment = Field(default_factory=now_utc)

    def draft(self) -> Draft:
        return Draft(
            kind="turn",
            id=self.id,
            text=self.content,
            payload=self.part(TurnPayload),
            conversation_id=self.conversation_id,
            valid_from=self.timestamp,
            dated="timestamp" in self.model_fields_set,
            source=self.role,
            embedding=self.vector(),
        )

    @classmethod
    def of(cls, record: Record) -> Turn:
        return cls(
            id=record.id,
            conversation_id=record.conversation_id or "",
            content=record.text,
            timestamp=record.valid_from,
            **record.payload,
        )


def turn_key(conversation_id: str, index: int) -> str:
    """Ids are opaque: another case is another conversation."""
    return f"{conversation_id}\x1f{index}"


KINDS = (
    Kind(
        "turn",
        "turns",
        TurnPayload,
        indexed=("index", "role", "speaker"),
        position="index",
        needs_text=False,
        said_by=lambda payload: (payload.get("speaker") or "", payload["role"]),
    ),
)
