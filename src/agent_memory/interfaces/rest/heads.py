"""The head of a request comes within so many seconds, or its connection ends.

uvicorn waits for ever: whoever opens connections and lets headers drip into them would leave none for anybody else.
What comes after the head is bounded by `Limits`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15.0


class Heads(H11Protocol):
    """A connection of the server; `seconds` is from the first moment, or the first byte after an answer."""

    seconds = HEAD_SECONDS
    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answering():
            self._done()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()
        super().connection_lost(exc)

    def _answering(self) -> bool:
        cycle: Any = self.cycle  # none before the first request
        return cycle is not None and not cycle.response_complete

    def _wait(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(self.seconds, self._give_up)

    def _done(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self._answering():
            self.transport.close()
