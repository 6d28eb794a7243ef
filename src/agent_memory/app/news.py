"""Something new in a tenant's journal: one look at the store, now and then, for all who follow it."""

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

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
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


class JournalNews:
    """`newest` reads the number of a tenant's last line. A thread looks as long as anybody follows."""

    def __init__(self, newest: Callable[[str], int]) -> None:
        self._newest = newest
        self._followers: set[Follower] = set()
        self._lock = threading.Lock()
        self._looking: threading.Thread | None = None

    @contextmanager
    def followed(self, tenant: str) -> Iterator[Follower]:
        follower = Follower(tenant)
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
        seen: dict[str, int | None] = {}
        pause = threading.Event()
        while True:
            with self._lock:
                if not self._followers:
                    self._looking = None
                    return
                followers = tuple(self._followers)
            newest = {tenant: self._last(tenant) for tenant in {one.tenant for one in followers}}
            for follower in followers:
                if newest[follower.tenant] is None or newest[follower.tenant] != seen.get(follower.tenant):
                    follower.wake()
            seen = newest
            pause.wait(LOOK_SECONDS)

    def _last(self, tenant: str) -> int | None:
        try:
            return self._newest(tenant)
        except AgentMemoryError:  # whoever is woken meets it, too, and tells
            return None
