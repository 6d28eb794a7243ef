"""A guard before code that must not be caught by a fork.

A child has the forking thread alone, and all locks as they were: one that another thread held just then, inside SQLite
or a model, in the middle of an import or in a library, is held in the child for ever. So before a fork a guard is shut:
nobody comes in any more, and the fork waits for those inside. (Locks of our own can simply be made anew.)
"""

from __future__ import annotations

import threading
from types import TracebackType

FORK_SECONDS = 30.0  # how long a fork waits for those inside; then it goes ahead, and the child is told
CALL_SECONDS = 10.0  # how long it waits for calls; one that takes longer has done its imports


class ForkGuard:
    """Open to any number of threads at once, and to one thread again and again."""

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._changed = threading.Condition()
        self._inside: list[int] = []
        self._forking: list[int] = []  # shut as long as somebody does: several threads may fork at once

    def enter(self, times: int = 1) -> None:
        me = threading.get_ident()
        with self._changed:
            while self._forking and me not in self._inside:
                self._changed.wait()
            self._inside += [me] * times

    def leave(self) -> bool:
        """False in a child that was forked since this thread came in."""
        me = threading.get_ident()
        with self._changed:
            if me not in self._inside:
                return False
            self._inside.remove(me)
            if self._forking:
                self._changed.notify_all()
            return True

    def step_out(self) -> int:
        """Out, before this thread waits for somebody else, who may have to come in; it holds nothing that a child
        needs. How many times it was inside: `enter` takes that."""
        times = self._inside.count(threading.get_ident())
        for _ in range(times):
            self.leave()
        return times

    def __enter__(self) -> None:
        self.enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def before_fork(self, seconds: float = FORK_SECONDS) -> None:
        """Shut, and wait for all threads to leave but those that fork."""
        with self._changed:
            self._forking.append(threading.get_ident())
            self._changed.notify_all()
            self._changed.wait_for(lambda: set(self._inside) <= set(self._forking), seconds)

    def after_fork(self, child: bool) -> bool:
        """Open again, unless another thread forks, too. In a child: whether nobody was inside when it was forked."""
        empty = not self._inside
        if child:
            self._renew()
        else:
            me = threading.get_ident()
            with self._changed:
                if me in self._forking:  # unless a signal broke off what was to be done before
                    self._forking.remove(me)
                self._changed.notify_all()
        return empty


CALLS = ForkGuard()
"""The calls of all clients in this process."""
