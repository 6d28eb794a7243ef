"""Who calls, from the head of the request alone: whoever may not call is told so before any of their body is read."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

from fastapi import Request

from agent_memory.app import headers
from agent_memory.app.service import Caller, CallerClaim, Service
from agent_memory.interfaces.loopback import is_local
from agent_memory.interfaces.rest.guard import App, Receive, Send
from agent_memory.interfaces.rest.problems import of_error
from agent_memory.interfaces.threads import threaded
from agent_memory.models.errors import AgentMemoryError

Identify = Callable[[Request], Caller]
CALLER = "agent_memory.caller"
OPEN = frozenset({"/", "/healthz", "/readyz", "/metrics", "/docs", "/openapi.json"})
"""What needs no caller. Everything else does, also what is not there."""


class Entrance:
    """ASGI middleware. Routes get the caller by `known`."""

    def __init__(self, app: App, identify: Identify) -> None:
        self._app = app
        self._identify = identify

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN:
            request = Request(scope)
            try:
                scope[CALLER] = await threaded(lambda: self._identify(request))
            except AgentMemoryError as error:
                await of_error(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def claimed(request: Request) -> CallerClaim:
    """Who the headers say is calling."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    peer = request.client.host if request.client else ""  # a Unix socket has no host
    key = token.strip() if scheme.lower() == "bearer" else None
    said = headers.read(request.headers)
    return CallerClaim(token=key, **said, local=not peer or is_local(peer), peer=peer, door="rest")


def identified(service: Service, request: Request) -> Caller:
    """The same, proved by their key; each time is a call that counts."""
    return service.identify(claimed(request), f"{request.method} {request.url.path}")


def known(request: Request) -> Caller:
    """Who was let in with this request."""
    caller: Caller = request.scope[CALLER]
    return caller
