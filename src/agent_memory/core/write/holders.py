"""What has other records: a conversation its turns, a user goals, preferences, expertise and interests. The record of
either is made with the first of them, and a link leads from it to each, in the same transaction."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace

from agent_memory.core.write.normalise import SALT_BYTES
from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Holder, canonical_json
from agent_memory.models.moment import from_micros
from agent_memory.models.record import SHARED
from agent_memory.ports.changes import Author, Connect, Put


def conversation(conversation_id: str) -> Draft:
    return Draft(
        kind="conversation",
        text=conversation_id,
        payload={"conversation_id": conversation_id},
        conversation_id=conversation_id,
        source="agent",
    )


def user(user_id: str) -> Draft:
    return Draft(kind="user", text=user_id, payload={"user_id": user_id}, source="agent")


def holder_of(put: Put, holder: Holder, author: Author) -> Draft | None:
    """The record that has this one. What all users share belongs to none of them."""
    if holder.kind == "user":
        return None if author.scope.user == SHARED else user(author.scope.user)
    if put.state.conversation_id is None:
        return None
    return replace(conversation(put.state.conversation_id), valid_from=from_micros(put.state.valid_from))


def held(put: Put, holder: Holder, by: Put) -> Connect:
    """The link that leads to it."""
    payload = json.loads(put.content.payload) if holder.fields else {}
    properties = canonical_json({name: payload[name] for name in holder.fields})
    return Connect(by.id, put.id, holder.type, secrets.token_bytes(SALT_BYTES), properties=properties)
