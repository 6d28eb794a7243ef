"""What a journal line proves of the row that it brought: everything the row says, whose it is, and what it ended.

`write` makes the seals, `proof` makes them again. The salt is stored with the row and goes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent_memory.engines.sqlite.journal import digest
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Content, State


@dataclass(frozen=True, slots=True)
class Identity:
    """Which version of which record, and whose."""

    id: str
    kind: str
    scope: Scope
    number: int


def version_seal(identity: Identity, content: Content, state: State, ended: Sequence[int]) -> bytes:
    """Seals a content, what this version says of it, and the versions that are no longer believed from here on."""
    scope = identity.scope
    return digest(
        content.salt,
        (identity.id, identity.kind, scope.tenant, scope.user, scope.agent, identity.number),
        content.text,
        content.payload,
        state.key,
        state.conversation_id,
        state.position,
        state.repository,
        state.status,
        state.importance,
        state.confidence,
        state.source,
        state.valid_from,
        state.valid_to,
        sorted(ended),
    )


def link_seal(salt: bytes, *said: object, ended: int | None) -> bytes:
    """Seals a link (source, target, type, weight, properties) and the one that it takes the place of."""
    return digest(salt, *said, ended)


def cut_seal(salt: bytes, link: int) -> bytes:
    """Seals which link was taken away; the salt is the link's own."""
    return digest(salt, link)
