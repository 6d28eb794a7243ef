"""The working set: small values with a time to live, per scope and conversation. Fast rather than for ever:
it survives a killed process, not a power cut. One that is out of reach raises `PartMissing`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from agent_memory.models.record import Scope


class Desk(NamedTuple):
    """Whose working set: it belongs to one conversation of one scope."""

    scope: Scope
    conversation: str


class WorkingStore(Protocol):
    """Values and list items are JSON texts; times are microseconds. What is over at `now` is not only hidden: writing
    sweeps it away, here and there within a minute, an erasure at once."""

    def set(self, desk: Desk, key: str, value: str, *, expires_at: int, now: int) -> None: ...

    def get(self, desk: Desk, key: str, *, now: int) -> str | None: ...

    def delete(self, desk: Desk, key: str) -> bool: ...

    def values(self, desk: Desk, *, now: int) -> dict[str, str]: ...

    def push(self, desk: Desk, name: str, item: str, *, keep: int, expires_at: int, now: int) -> None:
        """Append to a list of at most `keep`; the whole list lives until `expires_at` of its last push."""
        ...

    def items(self, desk: Desk, name: str, *, limit: int, now: int) -> Sequence[str]:
        """Newest first."""
        ...

    def clear(self, desk: Desk) -> None: ...

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        """Erase for good, from every desk whose reader sees `scope` (`scope in desk.scope.readable()`), the values and
        list items that are objects with one of these as their `id`. Asked of a working set that is not on the records'
        engine, again and again until it does not raise."""
        ...

    def forget_tenant(self, tenant: str) -> None:
        """Erase for good every desk of a tenant, and its names. Asked in the same way."""
        ...
