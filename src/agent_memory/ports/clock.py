"""Time is an input: everything that depends on it asks a clock."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Aware, in UTC."""
        ...


class SystemClock:
    """The machine's own clock. It may jump; the journal does not follow it backwards."""

    def now(self) -> datetime:
        return datetime.now(UTC)
