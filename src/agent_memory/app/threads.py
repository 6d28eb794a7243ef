"""Threads that work for coroutines."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from agent_memory.ports.abandon import AbandonableCall


class Threads:
    """A pool of threads, begun by the first call: of each process its own, since a child inherits none."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ThreadPoolExecutor | None = None
        self._owner = 0
        self._running: set[Future[Any]] = set()

    async def run(self, work: Callable[[], Any]) -> Any:
        if self._pool is None or self._owner != os.getpid():
            self._pool = ThreadPoolExecutor(self._count, thread_name_prefix="agent-memory")
            self._owner, self._running = os.getpid(), set()
        call = AbandonableCall()
        within = contextvars.copy_context()  # of which span it is a part
        begun = self._pool.submit(within.run, call.run, work)
        self._running.add(begun)
        begun.add_done_callback(self._running.discard)
        return await call.awaited(asyncio.wrap_future(begun))

    async def settle(self) -> None:
        """Until all that was begun is at its end, also what nobody waits for."""
        if self._owner == os.getpid() and self._running:
            await asyncio.to_thread(wait, tuple(self._running))

    def end(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None and self._owner == os.getpid():
            pool.shutdown(wait=False)
