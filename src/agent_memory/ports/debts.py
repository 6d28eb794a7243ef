"""What places outside the records' engine must still forget. A debt names records, never what they said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from agent_memory.models.record import Scope


class OutsidePlace(Protocol):
    """What is outside the records' engine, and can be told to forget. It raises while it cannot."""

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        """These records of a scope."""
        ...

    def forget_tenant(self, tenant: str) -> None:
        """Everything of a tenant."""
        ...


class Debt(NamedTuple):
    """A record that the journal line `seq` erased, and that a place must still forget. No `id`: everything of the
    scope's tenant, which went with a line of the store's journal. Until it is paid, this keeps the tenant's name: the
    place knows no other."""

    place: str
    scope: Scope
    id: str | None
    seq: int


class Owed(NamedTuple):
    """How many records, and how many whole tenants, a place must still forget, since when, and what went wrong when it
    was last asked."""

    place: str
    records: int
    since: int | None = None
    error: str | None = None
    tenants: int = 0

    @property
    def left(self) -> int:
        return self.records + self.tenants


class DebtStore(Protocol):
    """Kept by the records' engine: from `attach` on, the transaction that erases a record or a tenant notes a debt to
    each place, whichever process it is in, until the place is told and the debt `paid`."""

    def attach(self, place: str) -> None:
        """Nothing, where it is attached already."""
        ...

    def detach(self, place: str) -> int | None:
        """Erasures no longer concern it. How many debts it still had; None if there is no such place."""
        ...

    def standing(self) -> list[Owed]:
        """All places, also those that owe nothing, by name."""
        ...

    def owed(self, place: str, limit: int) -> list[Debt]:
        """The oldest first, and whole tenants before records."""
        ...

    def paid(self, debts: Sequence[Debt]) -> None:
        """They are forgotten there. What was erased again meanwhile, by a later line, is still owed."""
        ...

    def failed(self, place: str, error: str) -> None:
        """Keep what went wrong, until something is paid."""
        ...
