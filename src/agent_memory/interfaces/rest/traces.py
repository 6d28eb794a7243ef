"""A span for every request, as a part of the trace that its `traceparent` names. What answers probes is left out."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from agent_memory.interfaces.rest.guard import App, Message, Receive, Send
from agent_memory.ports import spans

PROBES = frozenset({"/healthz", "/readyz", "/metrics", "/docs"})
CARRIED = ("traceparent", "tracestate")
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class TraceMiddleware:
    """ASGI middleware. Of an address only its route is told: the rest is what somebody asks for."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if not spans.tracing() or scope["type"] != "http" or scope["path"] in PROBES:
            await self._app(scope, receive, send)
            return
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        carried = {name: headers[name] for name in CARRIED if name in headers}
        method = scope["method"] if scope["method"] in METHODS else "_OTHER"
        with spans.served(method, carried, **{"http.request.method": method}):
            await self._app(scope, receive, noting)
            route = getattr(scope.get("route"), "path", None)
            if route:
                spans.rename(f"{method} {route}")
            failed = str(status) if status >= 500 else None
            spans.tell(**{"http.route": route, "http.response.status_code": status or None, "error.type": failed})
