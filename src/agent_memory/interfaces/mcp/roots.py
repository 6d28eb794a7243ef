"""Where the client works: the folders that it calls its roots. They come before the working directory of the process,
which a desktop application may have started anywhere.

Over the standard streams alone: there client and server are the same user on the same machine. Whoever calls over a
network names no folder of this one. A root says where to look, and trusts nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import mcp_types as types
from mcp import MCPError
from mcp.server import ServerRequestContext
from pydantic import ValidationError

from agent_memory.app.workplace import Workplace

QUESTION = "roots"
NO_HANDSHAKE = "2026-07-28"  # from this protocol on, a server asks by its answer
SECONDS = 5.0  # for a client to answer; one that does not is not asked again


class Roots:
    """Asked for once, and again after the client said that they changed."""

    def __init__(self) -> None:
        self.workplace: Workplace | None = None
        self._asked = False

    async def learn(self, context: ServerRequestContext[Any, Any], params: Any) -> types.InputRequiredResult | None:
        """Know the roots, if the client has any. Clients of today are asked before a call is answered, and repeat it
        with the answer; those of the handshake are asked while they wait."""
        able = context.session.client_capabilities
        if self._asked or able is None or able.roots is None:
            return None
        if context.protocol_version >= NO_HANDSHAKE:
            told = getattr(params, "input_responses", None)
            if told is None:
                return types.InputRequiredResult(input_requests={QUESTION: types.ListRootsRequest()})
            self._take(told.get(QUESTION))
            return None
        try:
            request = types.ListRootsRequest()
            self._take(await context.session.send_request(request, types.ListRootsResult, SECONDS))
        except (MCPError, ValidationError):
            self._take(None)
        return None

    async def changed(self, context: Any, params: Any) -> None:
        self._asked = False

    def _take(self, told: object) -> None:
        named = told.roots if isinstance(told, types.ListRootsResult) else []
        found = [folder for one in named if (folder := _folder(str(one.uri)))]
        self.workplace = Workplace(found[0], others=tuple(found[1:])) if found else None
        self._asked = True


def _folder(uri: str) -> Path | None:
    """Its links followed; None where it is not a folder of this machine."""
    try:
        parts = urlsplit(uri)
        found = os.path.realpath(url2pathname(parts.path))
    except (ValueError, OSError):
        return None
    local = parts.scheme == "file" and parts.netloc in ("", "localhost")
    return Path(found) if local and os.path.isdir(found) else None  # noqa: PTH112 - which never raises
