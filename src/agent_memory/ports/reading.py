"""The access log: who read which memories, when, through which door, and why. Never what was read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

MOST_IDS = 100  # of one read that are named; the others are counted


class ReadLine(NamedTuple):
    """One operation that read: `ids` are the records that it gave, the first of `shown`. `key` is the id of the API
    key, `why` the reason that the caller gave. `micros` is how long it took; `tokens` and `money`, what a model cost
    for it, where one was asked; `receipt` leads to the receipt of a recall."""

    at: int
    tenant: str
    user: str
    agent: str
    key: str | None
    door: str
    operation: str
    ids: tuple[str, ...]
    shown: int
    why: str | None = None
    micros: int = 0
    tokens: int | None = None
    money: float | None = None
    receipt: str | None = None


class ReadsWanted(NamedTuple):
    """What lines must have in common; None: anything. `since` is a moment in microseconds."""

    id: str | None = None
    user: str | None = None
    key: str | None = None
    since: int = 0


class ReadingLog(Protocol):
    """Lines are kept as long as receipts, and go with their tenant. Forgetting a record leaves its id in them, and
    takes the `why` of every line that names it."""

    def keep(self, lines: Sequence[ReadLine], *, durable: bool = False) -> None:
        """Lines may come late: those of a tenant that is gone are dropped. A store that is only read keeps none."""
        ...

    def lines(self, tenant: str, wanted: ReadsWanted, limit: int) -> list[ReadLine]:
        """The newest first."""
        ...
