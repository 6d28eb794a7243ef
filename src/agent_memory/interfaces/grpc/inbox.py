"""How much of what callers send is held at once.

How long a message is, gRPC knows only when it is there. So a few arrive at a time, and the others wait their turn; of
those that are there, the large ones share a room, and whoever finds none is told to come again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from agent_memory.models.errors import InvalidInput, TooMany

MOST_BYTES = 16 * 1024 * 1024  # of one message
HELD_BYTES = 4 * MOST_BYTES
SMALL_BYTES = 64 * 1024  # of each message: they take no room, so that few large ones do not keep them out
ARRIVING = 16
ARRIVING_OF_ONE = 8  # of one key: who is slow to send leaves turns for others. Callers without a key count as one
BODY_SECONDS = 30.0  # for the message of a call, once it is its turn
RETRY_SECONDS = 2.0


class Inbox:
    """Of one server, used in its event loop alone."""

    def __init__(self, arriving: int = ARRIVING, of_one: int = ARRIVING_OF_ONE, held: int = HELD_BYTES) -> None:
        self._turns = asyncio.Semaphore(arriving)
        self._of_one = of_one
        self._turns_of: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self._left = held

    @asynccontextmanager
    async def message(self, messages: AsyncIterator[bytes], key: str | None) -> AsyncIterator[bytes]:
        """The only message of a call, and its place until the call is answered."""
        raw = await self._arrived(messages, self._turns_of.setdefault(key or "", asyncio.Semaphore(self._of_one)))
        large = max(0, len(raw) - SMALL_BYTES)
        if large > self._left:
            hint = "try again, or send less at once"
            raise TooMany("the server holds as many large requests as it can", hint=hint, wait=RETRY_SECONDS)
        self._left -= large
        try:
            yield raw
        finally:
            self._left += large

    async def _arrived(self, messages: AsyncIterator[bytes], own: asyncio.Semaphore) -> bytes:
        async with own, self._turns:
            try:
                async with asyncio.timeout(BODY_SECONDS):
                    async for message in messages:
                        return message
            except TimeoutError:
                raise InvalidInput(f"the request did not come within {BODY_SECONDS:g} seconds") from None
        raise InvalidInput("the request has no message")
