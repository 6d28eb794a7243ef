"""`AsyncAgentMemory`: the same client, awaited. Derived from `AgentMemory`, method by method; nothing is copied.

Core and engines are blocking code that lets go of the interpreter while it waits or computes, so a small pool of
threads serves many coroutines. A write that was begun is finished even if its caller is cancelled; a read is stopped,
here and at a server, so that its thread is free for others.
`aio.pyi` beside this file tells type checkers and editors the same (`make docs` writes it).
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Self

from agent_memory.app.memory import AgentMemory
from agent_memory.app.operations import NAMESPACES, namespace
from agent_memory.ports.abandon import AbandonableCall


def mirrored(sync: type) -> dict[str, Callable[..., Awaitable[Any]]]:
    """The public methods of a class as coroutine functions of an object that holds the sync one and threads."""
    methods = inspect.getmembers(sync, inspect.isfunction)
    return {name: _awaited(function) for name, function in methods if not name.startswith("_")}


def _awaited(function: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(function)
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await self._threads.run(functools.partial(function, self._sync, *args, **kwargs))

    return call


def _awaited_part(name: str) -> property:
    """A namespace, mirrored when it is asked for: it keeps nothing of its own."""
    return property(lambda self: mirror(namespace(name))(getattr(self._sync, name), self._threads))


@functools.cache
def mirror(sync: type) -> type:
    """A class with the same public methods, all awaited."""
    return type(f"Async{sync.__name__}", (_Mirror,), {"__doc__": sync.__doc__, **mirrored(sync)})


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


class _Mirror:
    """Methods are awaited; what is a plain attribute of the original is one here: the same."""

    def __init__(self, sync: Any, threads: Threads) -> None:
        self._sync = sync
        self._threads = threads

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._sync, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") or hasattr(type(self), name):
            object.__setattr__(self, name, value)
        else:
            setattr(self._sync, name, value)


class AsyncAgentMemory:
    """`AgentMemory` with `await` in front of every call: same arguments, same answers."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._sync = AgentMemory(*args, **kwargs)
        self._threads = Threads(self._sync._client.transport.threads)

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
        try:
            await self._threads.settle()
            await self._threads.run(functools.partial(self._sync.close, clear=clear))
        finally:
            self._threads.end()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


for _name in NAMESPACES:
    setattr(AsyncAgentMemory, _name, _awaited_part(_name))
for _name, _method in mirrored(AgentMemory).items():
    if _name not in vars(AsyncAgentMemory):
        setattr(AsyncAgentMemory, _name, _method)
