"""A wire between a client and a server that fails on purpose: it delays, cuts, goes silent, or loses one message."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Fault = Callable[[bytes], str]
"""What becomes of something a client sends: `pass`, `cut` (it never arrives), `lost` (it arrives, and its answer does
not), `reset` (neither arrives, and the connection is not even ended), or `silent` (both stay open, and nothing comes
any more)."""


def never(data: bytes) -> str:
    return "pass"


def at_commit(what: str, chance: float = 1.0, seed: int = 1) -> Fault:
    """Only where a transaction is to be committed."""
    dice = random.Random(seed)
    return lambda data: what if b"commit\0" in data.lower() and dice.random() < chance else "pass"


class Proxy:
    def __init__(self, port: int) -> None:
        self.fault: Fault = never
        self.delay = 0.0
        self.faults = 0
        self.trips = 0  # how often somebody waited for an answer before going on
        self._answered = True
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """All that is under way."""
        for one in self._open:
            _end(one)
        self._open.clear()

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(self._target)
                except OSError:
                    _end(client)
                    continue
                self._open += [client, server]
                muted = threading.Event()
                for pump, ends in ((self._requests, (client, server)), (self._answers, (server, client))):
                    threading.Thread(target=pump, args=(*ends, muted), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket, muted: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                time.sleep(self.delay)
                self.trips += self._answered
                self._answered = False
                what = self.fault(data)
                if what != "pass":
                    self.faults += 1
                if what in ("lost", "silent"):
                    muted.set()
                if what == "reset":
                    muted.set()
                    server.shutdown(socket.SHUT_RD)  # whoever reads from it lets go of it
                    time.sleep(0.02)
                    for one in (client, server):
                        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                        one.close()
                    return
                if what == "cut":
                    break
                server.sendall(data)
                if what == "lost":
                    time.sleep(0.2)  # the server does what it was told
                    break
                while what == "silent":
                    time.sleep(0.1)
                    if client.recv(65536) == b"":
                        break
        _end(client)
        _end(server)

    def _answers(self, server: socket.socket, client: socket.socket, muted: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                self._answered = True
                if not muted.is_set():
                    client.sendall(data)
        if not muted.is_set():
            _end(client)


@contextmanager
def between(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
