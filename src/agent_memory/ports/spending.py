"""What models were asked, and what that used: counted by day and model, for a whole store and all its processes.

A call is counted, and the tokens that it may use are set aside, before it is made; what it used takes their place
afterwards. Of a process that died meanwhile they stay set aside, and count as used.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class DaySpending(NamedTuple):
    """Of one model on one `day` (UTC, as in 2026-03-02). `reserved` tokens are set aside for calls that have not ended,
    or never will."""

    day: str
    model: str
    calls: int = 0
    prompt: int = 0
    completion: int = 0
    reserved: int = 0
    refused: int = 0

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion + self.reserved


class Most(NamedTuple):
    """How many calls, and how many tokens."""

    calls: int
    tokens: int


class Reserved(NamedTuple):
    """Whether it was, and what had been left before: never less than nothing."""

    granted: bool
    left: Most


class SpendingStore(Protocol):
    def reserve(self, day: str, model: str, tokens: int, most: Most) -> Reserved:
        """Count a call and set so many tokens aside, if all models together stay within `most` on that day; else count
        a refusal. Durable when it returns; of several processes at once, none gets what another has."""
        ...

    def settle(self, day: str, model: str, reserved: int, used: tuple[int, int]) -> None:
        """Of a call that was counted: so many tokens of prompt and answer were `used` of those set aside."""
        ...

    def since(self, day: str) -> list[DaySpending]:
        """From that day on, by day and model."""
        ...
