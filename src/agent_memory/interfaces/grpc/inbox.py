"""How much of what callers sent is held at once. How long a message is, gRPC knows only when it is there: large ones
share a room, and whoever finds none is told to come again. Who is slow to send takes nothing from others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agent_memory.models.errors import InvalidInput, TooMany

MOST_BYTES = 16 * 1024 * 1024  # of one message
HELD_BYTES = 4 * MOST_BYTES
SMALL_BYTES = 64 * 1024  # of each message: they take no room, so that few large ones do not keep them out
BODY_SECONDS = 30.0  # for the message of a call
RETRY_SECONDS = 2.0


class Inbox:
    """Of one server, used in its event loop alone."""

    def __init__(self, held: int = HELD_BYTES) -> None:
        self._left = held

    @asynccontextmanager
    async def message(self, messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The only message of a call, and its place until the call is answered."""
        raw = await _arrived(messages)
        large = max(0, len(raw) - SMALL_BYTES)
        if large > self._left:
            hint = "try again, or send less at once"
            raise TooMany("the server holds as many large requests as it can", hint=hint, wait=RETRY_SECONDS)
        self._left -= large
        try:
            yield raw
        finally:
            self._left += large


async def _arrived(messages: AsyncIterator[bytes]) -> bytes:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for message in messages:
                return message
    except TimeoutError:
        raise InvalidInput(f"the request did not come within {BODY_SECONDS:g} seconds") from None
    raise InvalidInput("the request has no message")
