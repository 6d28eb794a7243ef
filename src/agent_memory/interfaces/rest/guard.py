"""Before any route: whom the request is for, where it comes from, what it sends. Also on loopback.

A web page that somebody visits can make their browser send requests to this machine. It cannot choose the Host, cannot
hide its Origin or, in a browser of our days, that it is another site (`Sec-Fetch-Site`), and cannot send JSON without
asking first (which is never allowed): so a page can neither read nor write a memory, nor make the server work, whatever
name it makes point here.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.responses import Response

from agent_memory.interfaces.rest.problems import problem

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
JSON_TYPES = ("application/json", "application/x-ndjson")
READING = frozenset({"GET", "HEAD", "OPTIONS"})
PAGES = frozenset({"/", "/docs"})
"""For people: a link elsewhere may lead there."""
FOREIGN = frozenset({"cross-site", "same-site"})
FOLLOWED = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
"""What a browser says when somebody goes to a page, and not when another page asks for it or shows it in a frame."""
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::[0-9]*)?", re.ASCII)
_ORIGIN = re.compile(r"https?://(.+)", re.IGNORECASE)


class Guard:
    """ASGI middleware. `hosts` are the names under which this server may be called, beside the local ones."""

    def __init__(self, app: App, hosts: frozenset[str] = frozenset()) -> None:
        self._app = app
        self._hosts = LOCAL | {host.lower() for host in hosts}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope["method"], scope["path"], headers)
        if refused is not None:
            await refused(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refused(self, method: str, path: str, headers: dict[str, str]) -> Response | None:
        host = _name(headers.get("host", ""))
        if host not in self._hosts:
            return problem(421, f"this server is not called {host!r}", "wrong_host", hint="see --allow-host")
        origin = headers.get("origin")
        page = _ORIGIN.fullmatch(origin or "")
        if origin is not None and (page is None or _name(page[1]) not in self._hosts):
            return problem(403, f"requests from {origin} are not answered", "wrong_origin")
        if headers.get("sec-fetch-site", "").lower() in FOREIGN and not _followed(method, path, headers):
            hint = "only /docs may be linked to; programs do not send Sec-Fetch-Site"
            return problem(403, "requests of another site's page are not answered", "wrong_origin", hint=hint)
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if method not in READING and (has_body or kind) and kind not in JSON_TYPES:
            return problem(415, f"{kind or 'no content type'}: send application/json", "only_json")
        return None


def _followed(method: str, path: str, headers: dict[str, str]) -> bool:
    """Whether somebody followed a link to a page that is for people."""
    return method == "GET" and path in PAGES and FOLLOWED.items() <= headers.items()


def _name(netloc: str) -> str:
    """The host without its port, as it is compared; empty when it is none."""
    found = _HOST.fullmatch(netloc)
    return (found[1] or found[2]).lower().rstrip(".") if found else ""
