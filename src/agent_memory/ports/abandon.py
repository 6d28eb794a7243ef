"""Calls that nobody waits for any more: a coroutine was cancelled, or a client hung up, while a thread works for it.

A read says how it can be stopped (`stoppable`), and stops. What others need as well is finished all the same
(`finishing`): a write, and what is loaded for every reader.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


class Abandoned(Exception):
    """Raised where a read stops for this reason."""


class AbandonableCall:
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

    async def awaited(self, running: Awaitable[T]) -> T:
        """What a thread was given to `run`; whoever waits for it here may stop."""
        try:
            return await running
        except BaseException:  # cancelled; or it came to its end, and there is nothing to stop
            self.abandon()
            raise

    def abandon(self) -> None:
        with self._lock:
            self.abandoned = True
            if self._stop is not None:
                self._stop()

    @contextmanager
    def held(self, stop: Callable[[], None] | None) -> Iterator[None]:
        """While this is open, `stop` is how to stop it; None is not at all."""
        with self._lock:
            self.check()
            before, self._stop = self._stop, stop
        try:
            yield
        finally:
            with self._lock:  # from here on nobody stops what the next one uses
                self._stop = before
            if before is not None:  # what this is a part of could not be stopped meanwhile
                self.check()

    def check(self) -> None:
        if self.abandoned:
            raise Abandoned


_current: ContextVar[AbandonableCall | None] = ContextVar("call", default=None)


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
    try:
        with call.held(stop):
            yield
    finally:
        call.check()  # whatever went wrong in there, it was stopped


@contextmanager
def finishing() -> Iterator[None]:
    """What is begun inside is finished, whether anybody waits for it or not."""
    call = _current.get()
    if call is None:
        yield
        return
    token = _current.set(None)
    try:
        with call.held(None):
            yield
    finally:
        _current.reset(token)
