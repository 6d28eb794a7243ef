"""`AsyncAgentMemory`: the same client, awaited. Derived from `AgentMemory`, method by method; nothing is copied.

Core and engines are blocking code that lets go of the interpreter while it waits or computes, so a small pool of
threads serves many coroutines. A write that was begun is finished even if its caller is cancelled; a read is stopped,
here and at a server, so that its thread is free for others.
`aio.pyi` beside this file tells type checkers and editors the same (`make docs` writes it).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Self

from agent_memory.app.memory import AgentMemory
from agent_memory.app.operations import NAMESPACES, namespace
from agent_memory.app.session import ChatSession
from agent_memory.app.threads import Threads


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

    def session(self, *args: Any, **kwargs: Any) -> Any:
        """As there: it asks nobody, so only its methods are awaited."""
        return mirror(ChatSession)(self._sync.session(*args, **kwargs), self._threads)

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
