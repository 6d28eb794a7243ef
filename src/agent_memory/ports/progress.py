"""How far long work is, for whoever watches, such as a terminal. Where nobody does, it costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
Watch = Callable[[str, int, int], None]
"""Is told what is being done, how much of it is done, and how much there is."""

STEP = 64  # things between two tellings

_watch: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """While this is open, `watch` is told of all long work in this context."""
    token = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(token)


@contextmanager
def told_as(name: str, part: str) -> Iterator[None]:
    """While this is open, whoever watches hears of this part of the work alone, by another name."""
    outer = _watch.get()
    if outer is None:
        yield
        return
    with watched(lambda what, done, total: outer(name, done, total) if what == part else None):
        yield


def tell(what: str, done: int, total: int) -> None:
    watch = _watch.get()
    if watch is not None:
        watch(what, done, total)


def counted(things: Iterable[T], what: str, total: Callable[[], int]) -> Iterable[T]:
    """The same things; whoever watches sees them go by. `total` is asked only then."""
    return things if _watch.get() is None else _telling(things, what, total())


def _telling(things: Iterable[T], what: str, total: int) -> Iterator[T]:
    done = 0
    for done, thing in enumerate(things, 1):
        yield thing
        if done % STEP == 0:
            tell(what, done, total)
    tell(what, done, total)


class LongWork:
    """Work whose end comes when nothing is left, told as it goes on. `total` is asked once, and only if somebody
    watches."""

    def __init__(self, what: str, total: Callable[[], int]) -> None:
        self._what, self._done = what, 0
        self._total = 0 if _watch.get() is None else total()

    def one(self, more: int = 1) -> None:
        """So many more are done."""
        before, self._done = self._done, self._done + more
        if self._done // STEP > before // STEP:
            tell(self._what, self._done, max(self._done, self._total))

    def end(self) -> None:
        if self._done >= STEP:
            tell(self._what, self._done, self._done)
