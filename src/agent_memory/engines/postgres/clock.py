"""The database's clock, as far as it is known without asking: every transaction brings it along."""

from __future__ import annotations

import time

MOST_APART = 1_000_000
"""How far, in microseconds, the clock of a machine may be from the database's. One that is further off is not followed:
a single line dated years ahead would date all that its tenant writes after it."""

_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # nobody sets it, and it goes on while a machine sleeps


def ticks() -> int:
    """Microseconds since some moment."""
    return time.clock_gettime_ns(_STEADY) // 1000


class DatabaseClock:
    """Between which moments it is there now."""

    def __init__(self) -> None:
        self._ahead: tuple[int, int] | None = None  # of the ticks, at least and at most

    def heard(self, at: int, sent: int, received: int) -> None:
        """It was `at` over there, some time between two ticks of ours. What was heard before makes that more exact,
        unless they contradict each other: then one of the clocks was set."""
        least, most = at - received, at - sent
        if self._ahead is not None:
            narrow = max(least, self._ahead[0]), min(most, self._ahead[1])
            least, most = narrow if narrow[0] <= narrow[1] else (least, most)
        self._ahead = least, most

    def bounded(self, now: int) -> int:
        """What this machine's clock says, or the nearest to it that the database could agree with."""
        if self._ahead is None:
            return now
        least, most = (ticks() + one for one in self._ahead)
        return min(max(now, least - MOST_APART), most + MOST_APART)
