"""How many connections there may be, and how long one may take to say what it wants.

uvicorn takes connections for as long as the system gives any, and then can open no file any more; and it waits for
ever: whoever opens connections and lets headers drip into them would leave none for anybody else. What comes after the
head is bounded by `Limits`.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from agent_memory.interfaces.connections import most_connections

HEAD_SECONDS = 15.0
SHARE = 0.75  # of the connections that a process can have; the rest are for gRPC
TURNED_AWAY = 64  # connections that are just being told that there are too many; those beyond are told nothing
TELLING_SECONDS = 1.0
RETRY_SECONDS = 2


class TimedConnection(H11Protocol):
    """A connection of the server; `seconds` is from the first moment, or the first byte after an answer."""

    seconds = HEAD_SECONDS
    most = most_connections(SHARE)
    _waiting: asyncio.TimerHandle | None = None
    _unwanted = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self._turn_away()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        if self._unwanted:
            return  # read, so that its sender gets to the answer
        super().data_received(data)
        if self._answering():
            self._done()
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._done()
        super().connection_lost(exc)

    def _turn_away(self) -> None:
        self._unwanted = True
        if len(self.connections) > self.most + TURNED_AWAY:
            self.transport.abort()
            return
        self.transport.write(_FULL)
        self._waiting = self.loop.call_later(TELLING_SECONDS, self.transport.close)

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


def _full() -> bytes:
    """The answer to a connection too many, in the form of every other problem."""
    body = json.dumps(
        {
            "type": "about:blank",
            "title": "Too busy",
            "status": 503,
            "detail": "too many connections are open",
            "code": "too_busy",
            "hint": "try again later, or keep fewer open",
        }
    ).encode()
    head = (
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
        f"Content-Length: {len(body)}\r\nRetry-After: {RETRY_SECONDS}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


_FULL = _full()
