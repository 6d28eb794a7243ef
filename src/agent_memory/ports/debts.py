"""What places outside the records' engine must still forget. A debt names records, never what they said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_memory.models.record import Scope

Forget = Callable[[Scope, Sequence[str]], None]
"""(whose, ids): let a place forget these records of a scope; it raises while it cannot."""


@dataclass(frozen=True, slots=True)
class Debt:
    """A record that the journal line `seq` erased, and that a place must still forget."""

    place: str
    scope: Scope
    id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Owed:
    """How many records a place must still forget, since when, and what went wrong when it was last asked."""

    place: str
    records: int
    since: int | None = None
    error: str | None = None


class DebtStore(Protocol):
    """Kept by the records' engine: from `attach` on, the transaction that erases a record notes a debt to each place,
    whichever process it is in, until the place is told and the debt `paid`."""

    def attach(self, place: str) -> None:
        """Nothing, where it is attached already."""
        ...

    def detach(self, place: str) -> int | None:
        """Erasures no longer concern it. How many records it still owed; None if there is no such place."""
        ...

    def standing(self) -> list[Owed]:
        """All places, also those that owe nothing, by name."""
        ...

    def owed(self, place: str, limit: int) -> list[Debt]:
        """The oldest first."""
        ...

    def paid(self, debts: Sequence[Debt]) -> None:
        """They are forgotten there. What was erased again meanwhile, by a later line, is still owed."""
        ...

    def failed(self, place: str, error: str) -> None:
        """Keep what went wrong, until something is paid."""
        ...
