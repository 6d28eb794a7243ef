"""Every request is answered, once, and its sender gets to read the answer.

A refusal may come while the request is still being sent: from its head alone, or because its body is too large.
Whoever is hung up on in the middle of sending sees a broken connection instead of the reason, so what still comes is
read and dropped, for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from agent_memory.interfaces.rest.guard import App, Message, Receive, Send
from agent_memory.interfaces.rest.problems import problem
from agent_memory.models.errors import AgentMemoryError
from agent_memory.ports import spans

DROPPED_BYTES = 256 * 1024 * 1024
DROPPED_SECONDS = 15.0
QUIET_SECONDS = 1.0  # who sends nothing for so long waits for the answer
CLOSE = (b"connection", b"close")
_log = spans.log(__name__)


class Refused(BaseException):
    """An answer instead of the route's. Not an Exception: whatever reads a body must not swallow it."""

    def __init__(self, response: Response) -> None:
        self.response = response


class Answers:
    """ASGI middleware, around all that can refuse a request."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        coming = _Coming(receive, has_body(scope))
        answer = _Answer(send, coming)
        try:
            await self._app(scope, coming.receive, answer.send)
        except Refused as refused:
            await answer.instead(refused.response, scope)
        except ClientDisconnect:
            pass  # in the middle of what it sent
        except Exception as error:  # noqa: BLE001 - the door: whatever it is, nobody outside learns more
            _say(error, scope["method"], scope["path"])
            broken = problem(500, "something broke; the log of the server says what", "unexpected")
            await answer.instead(broken, scope)


class _Coming:
    """The request as it arrives; `ended` when nothing more of it will."""

    def __init__(self, receive: Receive, has_body: bool) -> None:
        self._receive = receive
        self.ended = not has_body

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self.ended = True
        return message

    async def drop(self) -> None:
        """Read on to the end, within bounds."""
        left = DROPPED_BYTES
        try:
            async with asyncio.timeout(DROPPED_SECONDS):
                while not self.ended and left > 0:
                    async with asyncio.timeout(QUIET_SECONDS):
                        left -= len((await self.receive()).get("body", b""))
        except TimeoutError:
            return


class _Answer:
    """What was sent so far: an answer that has begun cannot become another. One that comes before the end of the
    request is sent whole, and is over when the request is; then the connection ends."""

    def __init__(self, send: Send, coming: _Coming) -> None:
        self._send = send
        self._coming = coming
        self._begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            if not self._coming.ended:
                message["headers"] = [*message.get("headers", ()), CLOSE]
        elif not message.get("more_body", False) and not self._coming.ended:
            await self._send({**message, "more_body": True})
            await self._coming.drop()
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)

    async def instead(self, response: Response, scope: MutableMapping[str, Any]) -> None:
        if not self._begun:
            await response(scope, self._coming.receive, self.send)


def has_body(scope: MutableMapping[str, Any]) -> bool:
    """Whether the head says that a body follows."""
    named = dict(scope["headers"])
    return b"transfer-encoding" in named or named.get(b"content-length", b"0") != b"0"


def _say(error: Exception, method: str, path: str) -> None:
    """What ends a stream that has begun cannot be answered; if it is one of our errors, its code says enough."""
    if isinstance(error.__cause__, AgentMemoryError):
        _log.warning("%s %s ended early: %s", method, path, error.__cause__.code)
    else:
        _log.exception("%s %s broke", method, path)
