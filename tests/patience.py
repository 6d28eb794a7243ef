"""What a test may say about time: that something comes true while somebody waits, and what one thing costs beside
another, measured in turn in the same run.

Neither is a promise about a machine. `PATIENCE` is only used up by a test that fails; what must not be waited for takes
`FOREVER`. `tests/house/test_figures.py` refuses the rest.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 120.0
FOREVER = 900.0  # longer than any patience, and than the time a test may take


def until(holds: Callable[[], object], why: str = "it never came true") -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, why
        time.sleep(0.01)


async def until_then(holds: Callable[[], object], why: str = "it never came true") -> None:
    """The same, while others go on in the loop."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, why
        await asyncio.sleep(0.01)


def spent(*works: Callable[[], object], rounds: int = 3) -> list[float]:
    """CPU seconds of each, the least of several rounds in turn: who else is at work on this machine hardly counts, and
    neither does what earlier tests left for the garbage collector to look through."""
    least = [float("inf")] * len(works)
    collects = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for place, work in enumerate(works):
                begun = time.process_time()
                work()
                least[place] = min(least[place], time.process_time() - begun)
    finally:
        if collects:
            gc.enable()
    return least


def growth(work: Callable[[str], object], text: str, rounds: int = 5) -> float:
    """How many times as long a text takes as a quarter of it: four if its time is linear, sixteen if quadratic."""
    quarter, whole = spent(lambda: work(text[: len(text) // 4]), lambda: work(text), rounds=rounds)
    return whole / quarter


@contextmanager
def silent() -> Iterator[int]:
    """A port at which somebody listens, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]
