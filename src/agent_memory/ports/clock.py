"""Time is an input: everything that depends on it asks a clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from agent_memory.models.moment import from_micros


class Clock(Protocol):
    def now(self) -> datetime:
        """Aware, in UTC."""
        ...


class SystemClock:
    """The machine's own clock. It may jump; the journal does not follow it backwards."""

    def now(self) -> datetime:
        return from_micros(self.micros())

    def micros(self) -> int:
        return time.time_ns() // 1000


class StoreClock:
    """The machine's own, as far as the store agrees: several machines may share one, and theirs may differ."""

    def __init__(self, bounded: Callable[[int], int]) -> None:
        self._bounded = bounded
        self._machine = SystemClock()

    def now(self) -> datetime:
        return from_micros(self.micros())

    def micros(self) -> int:
        """The same as a number: every call asks, and a datetime takes ten times as long."""
        return self._bounded(self._machine.micros())
