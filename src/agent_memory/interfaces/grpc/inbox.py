"""How much of what callers send is held at once: while it arrives, and until it is answered.

How long a message is, gRPC tells only when it is there. So only a few arrive at a time; the others are held up by the
window of their stream, and whoever is slow makes room for them. What has arrived shares a room, and whoever finds none
is told to come again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_memory.models.errors import InvalidInput, TooMany

MOST_BYTES = 16 * 1024 * 1024  # of one message
HELD_BYTES = 4 * MOST_BYTES
SMALL_BYTES = 64 * 1024  # of each message: they take no room, so that few large ones do not keep them out
PLACES = 16  # for messages that arrive
BODY_SECONDS = 30.0  # for the message of a call
TURN_SECONDS = 2.0  # at a place that others wait for
RETRY_SECONDS = 2.0
_HINT = "try again, or send less at once"


class Inbox:
    """Of one server, used in its event loop alone."""

    def __init__(self, held: int = HELD_BYTES, places: int = PLACES, turn: float = TURN_SECONDS) -> None:
        self._left = held
        self._places = asyncio.Semaphore(places)
        self._waiting = 0
        self._turn = turn

    @asynccontextmanager
    async def message(self, messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The next message of a call, and its room until the call is answered."""
        raw = await self.arrived(messages)
        if raw is None:
            raise InvalidInput("the request has no message")
        large = max(0, len(raw) - SMALL_BYTES)
        if large > self._left:
            raise TooMany("the server holds as many large requests as it can", hint=_HINT, wait=RETRY_SECONDS)
        self._left -= large
        try:
            yield raw
        finally:
            self._left += large

    async def arrived(self, messages: AsyncIterator[bytes]) -> bytes | None:
        """The next message; None when there are no more."""
        try:
            async with asyncio.timeout(BODY_SECONDS), self._place():
                return await self._received(messages)
        except TimeoutError:
            raise InvalidInput(f"the request did not come within {BODY_SECONDS:g} seconds") from None

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._places.release()

    async def _received(self, messages: AsyncIterator[bytes]) -> bytes | None:
        """Asked for only now: before that, gRPC takes no more of it than the window of its stream."""
        receiving = asyncio.ensure_future(_next(messages))
        try:
            while not (await asyncio.wait((receiving,), timeout=self._turn))[0]:
                if self._waiting:
                    raise TooMany("the request came slowly, and others waited", hint=_HINT, wait=RETRY_SECONDS)
            return receiving.result()
        finally:
            receiving.cancel()


async def _next(messages: AsyncIterator[bytes]) -> bytes | None:
    return await anext(messages, None)
