"""How large a request may be, how slowly it may come, how long it may take, and how much all of them may hold.

A body is read before any route is asked, so that one that is too large or never ends costs nobody else anything; and so
that nobody parses one with so many values that everybody else would wait for it. What
streams (an import) is read by its route, line by line, and only has to keep coming.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, MutableMapping
from typing import Any

from starlette.responses import Response

from agent_memory.app.weight import MOST_VALUES, too_heavy
from agent_memory.interfaces.rest.answers import Refused, has_body
from agent_memory.interfaces.rest.guard import READING, App, Message, Receive, Send
from agent_memory.interfaces.rest.problems import problem
from agent_memory.interfaces.threads import threaded

MOST_BYTES = 16 * 1024 * 1024
HELD_BYTES = 4 * MOST_BYTES
SMALL_BYTES = 64 * 1024
BODY_SECONDS = 30.0
ANSWER_SECONDS = 60.0
RETRY_SECONDS = 2
STREAMS = frozenset({"/v1/import"})


class BodyRoom:
    """Bytes of bodies that are held at once, over all connections, from their arrival to the answer. The first
    `SMALL_BYTES` of each are free: few large ones cannot keep out those who send little."""

    def __init__(self, most: float) -> None:
        self._left = most

    def take(self, size: int) -> bool:
        if size > self._left:
            return False
        self._left -= size
        return True

    def give(self, size: int) -> None:
        self._left += size


class RequestLimits:
    """ASGI middleware. A call that takes too long is answered: a read is stopped, a write may or may not be done."""

    def __init__(
        self,
        app: App,
        most_bytes: float = MOST_BYTES,
        held_bytes: float = HELD_BYTES,
        body_seconds: float = BODY_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self._app = app
        self._most_bytes = most_bytes
        self._room = BodyRoom(held_bytes)
        self._body_seconds = body_seconds
        self._answer_seconds = answer_seconds

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"] in STREAMS:
            await self._app(scope, self._coming(receive), send)
            return
        if _length(scope) > self._most_bytes:
            raise Refused(self._too_large())
        if scope["method"] in READING and has_body(scope):  # nobody asked for it, and nobody waits for it
            await self._answered(scope, receive, send, asyncio.Event().wait())
            return
        body = _Body(self._room)
        try:
            whole = await self._whole(receive, body)
            await self._answered(scope, whole, send, _hung_up(receive))
        finally:
            body.let_go()

    async def _answered(
        self, scope: MutableMapping[str, Any], receive: Receive, send: Send, hung_up: Coroutine[Any, Any, object]
    ) -> None:
        """Until the answer begins there is a limit, and a client that hangs up is not worked for any more; a stream may
        then go on for as long as both sides want."""
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        answer = _Answer(send, begun)
        working, gone = asyncio.ensure_future(self._app(scope, receive, answer.send)), asyncio.ensure_future(hung_up)
        first: set[asyncio.Future[Any]] = {working, begun, gone}
        try:
            await asyncio.wait(first, timeout=self._answer_seconds, return_when=asyncio.FIRST_COMPLETED)
            if working.done() or begun.done():
                gone.cancel()
                await working
                return
            answer.closed = True
            working.cancel()  # a thread that works on it stops if it reads, and otherwise comes to its end
            if not gone.done():
                hint = "a write may still be done: repeat it with the same Idempotency-Key"
                said = f"no answer within {self._answer_seconds:g} seconds"
                raise Refused(problem(504, said, "too_slow", hint=hint, headers={"connection": "close"}))
        except asyncio.CancelledError:
            working.cancel()
            raise
        finally:
            begun.cancel()
            gone.cancel()

    async def _whole(self, receive: Receive, body: _Body) -> Receive:
        """The body, all of it, to be given out again."""
        try:
            async with asyncio.timeout(self._body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return _replay(message, receive)
                    if body.size + len(message.get("body", b"")) > self._most_bytes:
                        raise Refused(self._too_large())
                    if not body.add(message.get("body", b"")):
                        raise Refused(_no_room())
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise Refused(self._too_slow()) from None
        whole = body.joined()
        if len(whole) > MOST_VALUES and (heavy := await threaded(lambda: too_heavy(whole))) is not None:
            raise Refused(problem(413, heavy.message, "too_large", hint=heavy.hint))
        return _replay({"type": "http.request", "body": whole, "more_body": False}, receive)

    def _coming(self, receive: Receive) -> Receive:
        async def next_part() -> Message:
            try:
                async with asyncio.timeout(self._body_seconds):
                    return await receive()
            except TimeoutError:
                raise Refused(self._too_slow()) from None

        return next_part

    def _too_large(self) -> Response:
        return problem(413, f"more than {self._most_bytes:g} bytes", "too_large", hint="send less at once")

    def _too_slow(self) -> Response:
        return problem(408, f"the body did not come within {self._body_seconds:g} seconds", "body_too_slow")


class _Body:
    """One body as it comes in. Its place in the room is its own until it is let go, once."""

    def __init__(self, room: BodyRoom) -> None:
        self._room = room
        self._taken = 0
        self._held = bytearray()

    @property
    def size(self) -> int:
        return len(self._held)

    def add(self, part: bytes) -> bool:
        more = max(0, self.size + len(part) - SMALL_BYTES) - self._taken
        if not self._room.take(more):
            return False
        self._taken += more
        self._held += part
        return True

    def joined(self) -> bytes:
        whole, self._held = bytes(self._held), bytearray()
        return whole

    def let_go(self) -> None:
        self._room.give(self._taken)
        self._taken, self._held = 0, bytearray()


class _Answer:
    """Whether it has begun; what comes after it was `closed` is dropped."""

    def __init__(self, send: Send, begun: asyncio.Future[None]) -> None:
        self._send = send
        self._begun = begun
        self.closed = False

    async def send(self, message: Message) -> None:
        if self.closed:
            return
        if not self._begun.done():
            self._begun.set_result(None)
        await self._send(message)


def _no_room() -> Response:
    return problem(
        503,
        "the server holds as many large requests as it can",
        "too_busy",
        hint="try again, or send less at once",
        headers={"retry-after": str(RETRY_SECONDS)},
    )


def _length(scope: MutableMapping[str, Any]) -> int:
    """How long the body says it is; a server lets only digits through."""
    return int(next((value for name, value in scope["headers"] if name == b"content-length"), b"0"))


async def _hung_up(receive: Receive) -> None:
    """Wait until the client is gone; its body was read before."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _replay(first: Message, receive: Receive) -> Receive:
    waiting = [first]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
