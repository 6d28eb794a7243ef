"""A gate before code that must not be caught by a fork.

A child has the forking thread alone, and all locks as they were: one that another thread held just then, inside SQLite
or a model, in the middle of an import or in a library, is held in the child for ever. So before a fork a gate is shut:
nobody comes in any more, and the fork waits for those inside. (Locks of our own can simply be made anew.)
"""

from __future__ import annotations

import threading
from types import TracebackType

FORK_SECONDS = 30.0  # how long a fork waits for those inside; then it goes ahead, and the child is told
CALL_SECONDS = 10.0  # how long it waits for calls; one that takes longer has done its imports


class Gate:
    """Open to any number of threads at once, and to one thread again and again."""

    def __init__(self) -> None:
        self._renew()

    def _renew(self) -> None:
        self._changed = threading.Condition()
        self._inside: list[int] = []
        self._shut = False

    def enter(self) -> None:
        me = threading.get_ident()
        with self._changed:
            while self._shut and me not in self._inside:
                self._changed.wait()
            self._inside.append(me)

    def leave(self) -> bool:
        """False in a child that was forked since this thread came in."""
        me = threading.get_ident()
        with self._changed:
            if me not in self._inside:
                return False
            self._inside.remove(me)
            if self._shut:
                self._changed.notify_all()
            return True

    def __enter__(self) -> None:
        self.enter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def before_fork(self, seconds: float = FORK_SECONDS) -> None:
        """Shut, and wait for all threads but this one to leave."""
        me = threading.get_ident()
        with self._changed:
            self._shut = True
            self._changed.wait_for(lambda: all(one == me for one in self._inside), seconds)

    def after_fork(self, child: bool) -> bool:
        """Open again. In a child: whether nobody was inside when it was forked."""
        empty = not self._inside
        if child:
            self._renew()
        else:
            with self._changed:
                self._shut = False
                self._changed.notify_all()
        return empty


CALLS = Gate()
"""The calls of all clients in this process."""
