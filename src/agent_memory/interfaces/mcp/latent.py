"""MCP on a server, loaded when it is first asked for: the SDK takes a sixth of the memory of a process and a good part
of its start, and many servers are asked over REST alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context
from importlib.util import find_spec
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_memory.app.service import Caller, Service

if find_spec("mcp") is None:
    raise ModuleNotFoundError("No module named 'mcp'", name="mcp")

Identify = Callable[[Request], Caller]


class McpRoute:
    """What the application's own routes do: metrics and traces are told which one it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.route: Route | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self.route
        await self._app(scope, receive, send)


class LatentMcp:
    """Stands for MCP until a request comes. What answers lives in a task of its own, and ends with the application."""

    def __init__(self, make: Callable[[], tuple[ASGIApp, AbstractAsyncContextManager[None]]]) -> None:
        self._make = make
        self._ended = asyncio.Event()
        self._ready: asyncio.Future[ASGIApp] | None = None
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._live(self._ready), context=Context())
        answers = await asyncio.shield(self._ready)  # the others need it, too, if this one goes away
        await answers(scope, receive, send)

    async def _live(self, ready: asyncio.Future[ASGIApp]) -> None:
        try:
            answers, running = await asyncio.to_thread(self._make)
        except Exception as error:  # noqa: BLE001 - the door: whoever waits for it gets it
            self._ready = None
            ready.set_exception(error)
            return
        async with running:
            ready.set_result(answers)
            await self._ended.wait()

    async def end(self) -> None:
        self._ended.set()
        if self._task is not None:
            await self._task


def mount(
    app: Starlette, service: Service, identify: Identify, *, toolsets: Iterable[str] = (), path: str = "/mcp"
) -> None:
    """Offer MCP at `path` of this application; it lives as long as the application does."""

    def make() -> tuple[ASGIApp, AbstractAsyncContextManager[None]]:
        from agent_memory.interfaces.mcp.http import answering

        return answering(service, identify, toolsets)

    latent, around = LatentMcp(make), app.router.lifespan_context

    @asynccontextmanager
    async def living(inside: Any) -> AsyncIterator[Any]:
        async with around(inside) as state:
            try:
                yield state
            finally:
                await latent.end()

    app.router.lifespan_context = living
    entrance = McpRoute(latent)
    entrance.route = Route(path, endpoint=entrance, name="mcp")
    app.router.routes.append(entrance.route)
