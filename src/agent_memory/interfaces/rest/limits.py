"""How large a request may be, how slowly it may come, how long it may take; and nothing that breaks goes unsaid.

A body is read before any route is asked, so that one that is too large or never ends costs nobody else anything. What
streams (an import) is read by its route, line by line, and only has to keep coming.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, MutableMapping
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from agent_memory.interfaces.rest.guard import READING, App, Message, Receive, Send
from agent_memory.interfaces.rest.problems import problem
from agent_memory.models.errors import AgentMemoryError
from agent_memory.ports import spans

MOST_BYTES = 16 * 1024 * 1024
BODY_SECONDS = 30.0
ANSWER_SECONDS = 60.0
STREAMS = frozenset({"/v1/import"})
_log = spans.log(__name__)


class Limits:
    """ASGI middleware. A call that takes too long is answered: a read is stopped, a write may or may not be done."""

    def __init__(
        self,
        app: App,
        most_bytes: float = MOST_BYTES,
        body_seconds: float = BODY_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._body_seconds = body_seconds
        self._answer_seconds = answer_seconds

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        try:
            if scope["path"] in STREAMS:
                await self._app(scope, self._coming(receive), answer.send)
                return
            if _length(scope) > self._most_bytes:
                raise _Refused(self._too_large())
            if scope["method"] in READING and _has_body(scope):  # nobody asked for it, and nobody waits for it
                await self._answered(scope, receive, answer, asyncio.Event().wait())
            else:
                whole = await self._whole(receive)
                await self._answered(scope, whole, answer, _hung_up(receive))
        except _Refused as refused:
            await answer.instead(refused.response, scope, receive)
        except ClientDisconnect:  # in the middle of what it sent
            answer.closed = True
        except Exception as error:  # noqa: BLE001 - the door: whatever it is, nobody outside learns more
            _say(error, scope["method"], scope["path"])
            await answer.instead(
                problem(500, "something broke; the log of the server says what", "unexpected"), scope, receive
            )

    async def _answered(
        self, scope: MutableMapping[str, Any], receive: Receive, answer: _Answer, hung_up: Coroutine[Any, Any, object]
    ) -> None:
        """Until the answer begins there is a limit, and a client that hangs up is not worked for any more; a stream may
        then go on for as long as both sides want."""
        working = asyncio.ensure_future(self._app(scope, receive, answer.send))
        begun, gone = asyncio.ensure_future(answer.begun.wait()), asyncio.ensure_future(hung_up)
        try:
            await asyncio.wait(
                {working, begun, gone}, timeout=self._answer_seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if working.done() or begun.done():
                gone.cancel()
                await working
                return
            answer.closed = True
            working.cancel()  # a thread that works on it stops if it reads, and otherwise comes to its end
            if not gone.done():
                hint = "a write may still be done: repeat it with the same Idempotency-Key"
                said = f"no answer within {self._answer_seconds:g} seconds"
                raise _Refused(problem(504, said, "too_slow", hint=hint))
        except asyncio.CancelledError:
            working.cancel()
            raise
        finally:
            begun.cancel()
            gone.cancel()

    async def _whole(self, receive: Receive) -> Receive:
        """The body, all of it, to be given out again."""
        read = bytearray()
        try:
            async with asyncio.timeout(self._body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return _replay(message, receive)
                    read += message.get("body", b"")
                    if len(read) > self._most_bytes:
                        raise _Refused(self._too_large())
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise _Refused(self._too_slow()) from None
        return _replay({"type": "http.request", "body": bytes(read), "more_body": False}, receive)

    def _coming(self, receive: Receive) -> Receive:
        async def next_part() -> Message:
            try:
                async with asyncio.timeout(self._body_seconds):
                    return await receive()
            except TimeoutError:
                raise _Refused(self._too_slow()) from None

        return next_part

    def _too_large(self) -> Response:
        return problem(413, f"more than {self._most_bytes:g} bytes", "too_large", hint="send less at once")

    def _too_slow(self) -> Response:
        return problem(408, f"the body did not come within {self._body_seconds:g} seconds", "body_too_slow")


class _Refused(BaseException):
    """An answer instead of the route's. No Exception: what reads a body must not swallow it."""

    def __init__(self, response: Response) -> None:
        self.response = response


class _Answer:
    """What was sent so far: an answer that has begun cannot become another."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = asyncio.Event()
        self.closed = False

    async def send(self, message: Message) -> None:
        if self.closed:
            return
        self.begun.set()
        await self._send(message)

    async def instead(self, response: Response, scope: MutableMapping[str, Any], receive: Receive) -> None:
        self.closed = True
        if not self.begun.is_set():
            response.headers["connection"] = "close"
            await response(scope, receive, self._send)


def _say(error: Exception, method: str, path: str) -> None:
    """What ends a stream that has begun cannot be answered; if it is one of our errors, its code says enough."""
    if isinstance(error.__cause__, AgentMemoryError):
        _log.warning("%s %s ended early: %s", method, path, error.__cause__.code)
    else:
        _log.exception("%s %s broke", method, path)


def _length(scope: MutableMapping[str, Any]) -> int:
    """How long the body says it is; a server lets only digits through."""
    return int(next((value for name, value in scope["headers"] if name == b"content-length"), b"0"))


def _has_body(scope: MutableMapping[str, Any]) -> bool:
    return any(name in (b"content-length", b"transfer-encoding") for name, _ in scope["headers"])


async def _hung_up(receive: Receive) -> None:
    """Wait until the client is gone; its body was read before."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _replay(first: Message, receive: Receive) -> Receive:
    waiting = [first]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
