"""Keys and refusals: what the network doors keep in the store. A key has a line in the journal when it is made and when
it ends, so that `verify` notices one that was revived, changed or slipped in; refusals have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class KeyRow(NamedTuple):
    """`digest` is a hash of the secret, which is nowhere. Times are microseconds; None is never."""

    id: str
    digest: bytes
    label: str
    tenant: str
    user: str | None
    permissions: tuple[str, ...]
    created_at: int
    expires_at: int | None = None
    ended_at: int | None = None


class Refusal(NamedTuple):
    at: int
    tenant: str
    user: str
    operation: str
    reason: str
    key: str | None = None


class AccessStore(Protocol):
    def add(self, key: KeyRow, *, instead: str | None = None) -> bool:
        """Durable when it returns. `instead` is the key that it replaces, ended in the same transaction; if that had
        ended before, nothing is stored, and the answer is False."""
        ...

    def find(self, id: str) -> KeyRow | None: ...

    def keys(self, tenant: str | None = None) -> list[KeyRow]:
        """The newest first: of one tenant, or of all."""
        ...

    def guarded(self) -> bool:
        """Whether there ever was a key, also if it ended, or went with its tenant."""
        ...

    def end(self, id: str, at: int) -> bool:
        """From then on it opens nothing. Says whether it was still good."""
        ...

    def refuse(self, lines: Sequence[Refusal]) -> None:
        """Remember refused calls. May be lost in a power cut; the oldest go when there are very many: of each tenant's
        keys for itself, and apart from these of all that showed no key."""
        ...

    def refused(self, tenant: str, limit: int, *, keyed: bool) -> list[Refusal]:
        """The newest first: of calls with a key that is known, or of those without."""
        ...
