"""Calls that nobody waits for any more: a coroutine was cancelled while a thread works for it.

A read says how it can be stopped (`stoppable`); a write does not, and is finished.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """Raised where a read stops for this reason."""


class Call:
    """One call, run in a thread on behalf of somebody who may stop waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self.abandoned = False

    def run(self, work: Callable[[], T]) -> T:
        token = _current.set(self)
        try:
            return work()
        finally:
            _current.reset(token)

    def abandon(self) -> None:
        with self._lock:
            self.abandoned = True
            if self._stop is not None:
                self._stop()

    @contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Iterator[None]:
        with self._lock:
            if self.abandoned:
                raise Abandoned
            self._stop = stop
        try:
            yield
        finally:
            with self._lock:
                self._stop = None


_current: ContextVar[Call | None] = ContextVar("call", default=None)


def abandoned() -> bool:
    """Whether nobody waits for what this thread does."""
    call = _current.get()
    return call is not None and call.abandoned


@contextmanager
def stoppable(stop: Callable[[], None]) -> Iterator[None]:
    """While this is open, `stop` is called, from another thread, as soon as nobody waits for the call any more."""
    call = _current.get()
    if call is None:
        yield
        return
    with call.stoppable(stop):
        yield
