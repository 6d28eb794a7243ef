"""Work off the event loop, for the doors that live on one. A caller who goes away stops a read, and never a write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

from agent_memory.ports.abandon import AbandonableCall

T = TypeVar("T")


async def threaded(work: Callable[[], T]) -> T:
    """In a thread. Whoever stops waiting is free at once; what the thread began is stopped if it reads."""
    call = AbandonableCall()
    return await call.awaited(anyio.to_thread.run_sync(call.run, work, abandon_on_cancel=True))
