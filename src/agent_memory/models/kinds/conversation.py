"""Conversations, and their turns in order. C2."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Holder, Kind
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


class ConversationPayload(Model):
    """`archived`: nobody goes on with it; `consolidated`: upkeep has taken from it what is worth keeping,
    of the turns that were stored up to `consolidated_until`."""

    conversation_id: Name
    title: Name | None = None
    archived: bool = False
    consolidated: bool = False
    consolidated_until: Moment | None = None


class Conversation(ConversationPayload):
    """A conversation: there is one from its first turn on. `started_at` and `last_turn_at` are the times of its first
    and last turns."""

    id: Name
    user: Name
    started_at: Moment
    last_turn_at: Moment | None = None

    @classmethod
    def of(cls, record: Record) -> Conversation:
        return cls(id=record.id, user=record.scope.user, started_at=record.valid_from, **record.payload)


KINDS = (
    Kind(
        "conversation",
        "conversations",
        ConversationPayload,
        key=lambda text, payload: payload["conversation_id"],
        indexed=("archived", "consolidated"),
        searchable=False,
    ),
    Kind(
        "turn",
        "turns",
        TurnPayload,
        indexed=("index", "role", "speaker"),
        position="index",
        needs_text=False,
        said_by=lambda payload: (payload.get("speaker") or "", payload["role"]),
        holder=Holder("conversation", "HAS_TURN"),
    ),
)
