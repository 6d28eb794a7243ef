"""MCP over streamable HTTP, as a part of an application that has other doors, too.

No sessions are kept: each request says who calls and is answered by itself, so a restart of the server is not noticed.
The guard of the application (Host, Origin, JSON, size) stands before this as before everything else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.mcp.server import Door

MOST_BYTES = 16 * 1024 * 1024
CALLER = "agent_memory.caller"

Identify = Callable[[Request], Caller]


class Entrance:
    """Asks who it is, once a request, before the protocol is spoken: a stranger gets the application's own refusal."""

    def __init__(self, app: ASGIApp, identify: Identify) -> None:
        self._app = app
        self._identify = identify
        self.route: Route | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self.route  # as FastAPI does: metrics and traces name it
        scope[CALLER] = await anyio.to_thread.run_sync(self._identify, Request(scope))
        await self._app(scope, receive, send)


def mount(
    app: Starlette, service: Service, identify: Identify, *, toolsets: Iterable[str] = (), path: str = "/mcp"
) -> None:
    """Offer MCP at `path` of this application; it lives as long as the application does."""
    server = Door(service, lambda request: request.scope[CALLER], toolsets).server()
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=MOST_BYTES)
    around = app.router.lifespan_context

    @asynccontextmanager
    async def living(inside: Any) -> AsyncIterator[Any]:
        async with around(inside) as state, manager.run():
            yield state

    app.router.lifespan_context = living
    entrance = Entrance(StreamableHTTPASGIApp(manager), identify)
    entrance.route = Route(path, endpoint=entrance, name="mcp")
    app.router.routes.append(entrance.route)
