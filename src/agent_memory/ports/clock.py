"""Time is an input: everything that depends on it asks a clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from agent_memory.models.moment import from_micros, to_micros


class Clock(Protocol):
    def now(self) -> datetime:
        """Aware, in UTC."""
        ...


class SystemClock:
    """The machine's own clock. It may jump; the journal does not follow it backwards."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class StoreClock:
    """The machine's own, as far as the store agrees: several machines may share one, and theirs may differ."""

    def __init__(self, bounded: Callable[[int], int]) -> None:
        self._bounded = bounded
        self._machine = SystemClock()

    def now(self) -> datetime:
        return from_micros(self._bounded(to_micros(self._machine.now())))
