"""MCP over streamable HTTP, as a part of an application that has other doors, too.

No sessions are kept: each request says who calls and is answered by itself, so a restart of the server is not noticed.
What guards the application (Host, Origin, key, JSON, size, how many values) stands before this as before everything
else. The SDK parses a body on the event loop, so that it gets none of more than the longest text that a tool takes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.mcp.server import McpDoor

MOST_BYTES = 8 * 1024 * 1024

Identify = Callable[[Request], Caller]


class McpRoute:
    """What the application's own routes do: metrics and traces are told which one it is."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.route: Route | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self.route
        await self._app(scope, receive, send)


def mount(
    app: Starlette, service: Service, identify: Identify, *, toolsets: Iterable[str] = (), path: str = "/mcp"
) -> None:
    """Offer MCP at `path` of this application; it lives as long as the application does."""
    server = McpDoor(service, _placed(service, identify), toolsets).server()
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=MOST_BYTES)
    around = app.router.lifespan_context

    @asynccontextmanager
    async def living(inside: Any) -> AsyncIterator[Any]:
        async with around(inside) as state, manager.run():
            yield state

    app.router.lifespan_context = living
    entrance = McpRoute(StreamableHTTPASGIApp(manager))
    entrance.route = Route(path, endpoint=entrance, name="mcp")
    app.router.routes.append(entrance.route)


def _placed(service: Service, identify: Identify) -> Identify:
    """Callers work in the folder that the server was given, and not in the one where it happened to be started."""

    def identified(request: Request) -> Caller:
        caller = identify(request)
        if service.settings.workplace is not None:
            return caller
        return caller._replace(workplace=service.workplace._replace(shut=True))

    return identified
