"""MCP over streamable HTTP, as a part of an application that has other doors, too.

No sessions are kept: each request says who calls and is answered by itself, so a restart of the server is not noticed.
What guards the application (Host, Origin, key, JSON, size, how many values) stands before this as before everything
else. The SDK parses a body on the event loop, so that it gets none of more than the longest text that a tool takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.types import ASGIApp

from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.mcp.latent import Identify
from agent_memory.interfaces.mcp.server import McpDoor

MOST_BYTES = 8 * 1024 * 1024


def answering(
    service: Service, identify: Identify, toolsets: Iterable[str]
) -> tuple[ASGIApp, AbstractAsyncContextManager[None]]:
    """An application that answers as long as it runs, and its running."""
    server = McpDoor(service, _placed(service, identify), toolsets).server()
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True, max_request_body_size=MOST_BYTES)
    return StreamableHTTPASGIApp(manager), manager.run()


def _placed(service: Service, identify: Identify) -> Identify:
    """Callers work in the folder that the server was given, and not in the one where it happened to be started."""

    def identified(request: Request) -> Caller:
        caller = identify(request)
        if service.settings.workplace is not None:
            return caller
        return caller._replace(workplace=service.workplace._replace(shut=True))

    return identified
