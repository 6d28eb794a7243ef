"""Something new in the journal: one look at the store, now and then, for all who follow it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from agent_memory.models.errors import AgentMemoryError

LOOK_SECONDS = 0.25  # how often somebody looks at the store
LONGEST_WAIT = 10.0  # after which a follower goes on all the same: its key may have ended


class Follower:
    """Waits on the event loop that it was made on."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._new = asyncio.Event()

    def wake(self) -> None:
        """From any thread."""
        with suppress(RuntimeError):  # its loop has ended, and it with it
            self._loop.call_soon_threadsafe(self._new.set)

    async def wait(self, stopping: threading.Event) -> None:
        """Until there is something new, the server is `stopping`, or it is time to look at the key. What is new while
        nobody waits is not missed."""
        until = self._loop.time() + LONGEST_WAIT
        while not (self._new.is_set() or stopping.is_set()) and self._loop.time() < until:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._new.wait(), LOOK_SECONDS)
        self._new.clear()


class News:
    """`newest` reads the number of the last line. A thread looks as long as anybody follows."""

    def __init__(self, newest: Callable[[], int]) -> None:
        self._newest = newest
        self._followers: set[Follower] = set()
        self._lock = threading.Lock()
        self._looking: threading.Thread | None = None

    @contextmanager
    def followed(self) -> Iterator[Follower]:
        follower = Follower()
        with self._lock:
            self._followers.add(follower)
            if self._looking is None:
                self._looking = threading.Thread(target=self._look, name="agent-memory-news", daemon=True)
                self._looking.start()
        try:
            yield follower
        finally:
            with self._lock:
                self._followers.discard(follower)

    def _look(self) -> None:
        seen, pause = -1, threading.Event()
        while True:
            try:
                newest = self._newest()
            except AgentMemoryError:  # whoever is woken meets it, too, and tells
                newest = -1
            with self._lock:
                if not self._followers:
                    self._looking = None
                    return
                told = () if newest == seen != -1 else tuple(self._followers)
            for follower in told:
                follower.wake()
            seen = newest
            pause.wait(LOOK_SECONDS)
