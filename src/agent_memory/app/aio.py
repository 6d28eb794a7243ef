"""`AsyncAgentMemory`: the same client, awaited. Derived from `AgentMemory`, method by method; nothing is copied.

Core and engines are blocking code that lets go of the interpreter while it waits or computes, so a small pool of
threads serves many coroutines. A write that was begun is finished even if its caller is cancelled.
`aio.pyi` beside this file tells type checkers and editors the same (`make docs` writes it).
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from agent_memory.app.memory import AgentMemory

THREADS = 4


def mirrored(sync: type) -> dict[str, Callable[..., Awaitable[Any]]]:
    """The public methods of a class as coroutine functions of an object that holds the sync one and a pool."""
    methods = inspect.getmembers(sync, inspect.isfunction)
    return {name: _awaited(function) for name, function in methods if not name.startswith("_")}


def _awaited(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(function)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        work = functools.partial(function, self._sync, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    return call


@functools.cache
def mirror(sync: type) -> type:
    """A class with the same public methods, all awaited."""
    return type(f"Async{sync.__name__}", (_Mirror,), {"__doc__": sync.__doc__, **mirrored(sync)})


class _Mirror:
    def __init__(self, sync: Any, pool: ThreadPoolExecutor) -> None:
        self._sync = sync
        self._pool = pool


class AsyncAgentMemory:
    """`AgentMemory` with `await` in front of every call: same arguments, same answers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._sync = AgentMemory(*args, **kwargs)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="agent-memory")
        for name, part in vars(self._sync).items():
            if not name.startswith("_"):
                setattr(self, name, mirror(type(part))(part, self._pool))

    @property
    def user_id(self) -> str:
        return self._sync.user_id

    @property
    def conversation_id(self) -> str | None:
        return self._sync.conversation_id

    @conversation_id.setter
    def conversation_id(self, conversation_id: str | None) -> None:
        self._sync.conversation_id = conversation_id

    async def close(self, *, clear: bool = True) -> None:
        work = functools.partial(self._sync.close, clear=clear)
        await asyncio.get_running_loop().run_in_executor(self._pool, work)
        self._pool.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


for _name, _method in mirrored(AgentMemory).items():
    if _name not in vars(AsyncAgentMemory):
        setattr(AsyncAgentMemory, _name, _method)
