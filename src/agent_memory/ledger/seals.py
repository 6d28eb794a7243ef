"""What a journal line proves of the row that it brought: everything the row says, whose it is, and what it ended.

`plan` makes the seals, `verify` makes them again. The salt is stored with the row and goes with it.

Rows that change without a line (vectors, receipts, the desk, answers …) carry a checksum of themselves instead. It has
no secret: it notices accidents, not somebody who makes it again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b, sha256
from itertools import product
from typing import NamedTuple

from agent_memory.ledger.journal import digest
from agent_memory.models.record import Scope
from agent_memory.ports.changes import Content, VersionState

CHECKSUM_BYTES = 8


class Identity(NamedTuple):
    """Which version of which record, and whose."""

    id: str
    kind: str
    scope: Scope
    number: int


def version_seal(identity: Identity, content: Content, state: VersionState, ended: Sequence[int]) -> bytes:
    """Seals a content, what this version says of it, and the versions that are no longer believed from here on."""
    return next(version_seals(identity, content, state, ended))


def version_seals(identity: Identity, content: Content, state: VersionState, ended: Sequence[int]) -> Iterator[bytes]:
    """The seal, and then those that 0.1 may have made of the same row."""
    scope = identity.scope
    for importance, confidence in product(_spellings(state.importance), _spellings(state.confidence)):
        yield digest(
            content.salt,
            (identity.id, identity.kind, scope.tenant, scope.user, scope.agent, identity.number),
            content.text,
            content.payload,
            state.key,
            state.conversation_id,
            state.position,
            state.repository,
            state.status,
            importance,
            confidence,
            state.source,
            state.valid_from,
            state.valid_to,
            sorted(ended),
        )


def link_seal(salt: bytes, ends: Sequence[object], weight: float, properties: str, ended: int | None) -> bytes:
    """Seals a link (`ends`: source, target, type) and the one that it takes the place of."""
    return next(link_seals(salt, ends, weight, properties, ended))


def link_seals(
    salt: bytes, ends: Sequence[object], weight: float, properties: str, ended: int | None
) -> Iterator[bytes]:
    """The seal, and then the one that 0.1 may have made of the same row."""
    return (digest(salt, *ends, spelled, properties, ended) for spelled in _spellings(weight))


def cut_seal(salt: bytes, link: int) -> bytes:
    """Seals which link was taken away; the salt is the link's own."""
    return digest(salt, link)


def tombstone_seal(id: str) -> bytes:
    return sha256(id.encode()).digest()


def key_seal(*columns: object) -> bytes:
    """Seals an API key as it stands now. The digest of its secret, which nobody can guess, hides the rest."""
    return digest(b"", *(one.hex() if isinstance(one, bytes) else one for one in columns))


def checksum(*columns: object) -> bytes:
    return blake2b(b"\x1f".join(map(_bytes, columns)), digest_size=CHECKSUM_BYTES).digest()


def sealed(*columns: object) -> tuple[object, ...]:
    """A row, and its checksum behind it."""
    return (*columns, checksum(*columns))


def sealed_again(before: Sequence[object], *columns: object) -> tuple[object, ...]:
    """A row that takes the place of another. If that was damaged, so is this: the checksum goes on telling."""
    *old, seal = before
    return sealed(*columns) if seal in (None, checksum(*old)) else (*columns, seal)


def _spellings(number: float) -> list[float]:
    """As a column of numbers gives it back: a float, and no zero but 0.0. Version 0.1 sealed -0.0 as it came."""
    plain = float(number) + 0.0
    return [plain] if plain else [0.0, -0.0]


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else repr(value).encode()
