"""Whether a call may be answered by a copy of the store that is a little behind: one that only reads may. What is
written rests on what was read for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_may: ContextVar[bool] = ContextVar("agent-memory-may-lag", default=False)


@contextmanager
def reading_only() -> Iterator[None]:
    before = _may.set(True)
    try:
        yield
    finally:
        _may.reset(before)


def may_lag() -> bool:
    return _may.get()
