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

from agent_memory.interfaces.rest.heads import Heads

SECONDS = 0.5  # of what may be slow; the server's own patience is longer


@dataclass
class Wire:
    """A server on a port of its own, and what a stranger can do to it."""

    port: int

    def open(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def send(self, *parts: bytes, pause: float = 0.0, half: bool = False) -> bytes:
        """All that comes back until the other side closes; what it does not want to read is not sent."""
        with self.open() as wire, contextlib.suppress(OSError):
            seen = b""
            try:
                for part in parts:
                    wire.sendall(part)
                    time.sleep(pause)
                if half:
                    wire.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            with contextlib.suppress(OSError):
                while data := wire.recv(65536):
                    seen += data
            return seen
        return b""

    def stored(self) -> int:
        answer = self.send(b"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return int(json.loads(answer.partition(b"\r\n\r\n")[2])["records"])


def status(answer: bytes) -> int:
    return int(answer.split(b" ")[1]) if answer.startswith(b"HTTP/1.1 ") else 0


class Hasty(Heads):
    seconds = SECONDS


@contextlib.contextmanager
def answering(app: Any, heads: type[Heads] = Hasty) -> Iterator[Wire]:
    """Serve an application as `agent-memory serve` does, with less patience."""
    free = socket.create_server(("127.0.0.1", 0))
    patience = uvicorn.Config(app, http=heads, log_config=None, timeout_graceful_shutdown=5, timeout_keep_alive=1)
    server = uvicorn.Server(patience)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [free]})
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield Wire(free.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(30)
    assert not thread.is_alive()
