"""A real server, and a stranger with a socket who says to it what no client would."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import uvicorn

from agent_memory.interfaces.rest.heads import TimedConnection
from patience import PATIENCE, until

SECONDS = 0.5  # of what may be slow; the server's own patience is longer


@dataclass
class Wire:
    """A server on a port of its own, and what a stranger can do to it."""

    port: int

    def open(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def send(self, *parts: bytes, pause: float = 0.0, half: bool = False) -> bytes:
        """All that comes back until the other side closes, which it must; what it does not want to read is not sent."""
        seen = b""
        with self.open() as wire:
            with contextlib.suppress(ConnectionError):
                for part in parts:
                    wire.sendall(part)
                    time.sleep(pause)
            with contextlib.suppress(OSError):
                if half:
                    wire.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while data := wire.recv(65536):
                    seen += data
        return seen

    def stored(self) -> int:
        answer = self.send(b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return int(json.loads(answer.partition(b"\r\n\r\n")[2])["records"])


def status(answer: bytes) -> int:
    return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.1 ") else 0


class Hasty(TimedConnection):
    seconds = SECONDS


@contextlib.contextmanager
def answering(app: Any, heads: type[TimedConnection] = Hasty) -> Iterator[Wire]:
    """Serve an application as `agent-memory serve` does, with less patience."""
    free = socket.create_server(("127.0.0.1", 0))
    patience = uvicorn.Config(app, http=heads, log_config=None, timeout_graceful_shutdown=5, timeout_keep_alive=1)
    server = uvicorn.Server(patience)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [free]})
    thread.start()
    until(lambda: server.started or not thread.is_alive())
    try:
        yield Wire(free.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
    assert not thread.is_alive()
