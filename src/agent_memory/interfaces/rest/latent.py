"""Routes that are built when they are first needed.

There are more than two hundred. FastAPI takes half a second to build them all, and few are ever asked for: our own
clients need one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send


class LatentRoute(BaseRoute):
    """Stands for a route until a path begins like that route's."""

    def __init__(self, method: str, path: str, build: Callable[[], APIRoute]) -> None:
        self.methods = {method}
        self._beginning = path.partition("{")[0]
        self._build = build

    @cached_property
    def built(self) -> APIRoute:
        return self._build()

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return self.built.matches(scope) if self._beginning in scope["path"] else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.built.handle(scope, receive, send)


def built(route: BaseRoute) -> BaseRoute:
    return route.built if isinstance(route, LatentRoute) else route
