"""A gRPC client that sends a part of each message and then nothing more, as far as the server's windows let it: HTTP/2
by hand, because no client library does so."""

from __future__ import annotations

import select
import socket
import struct
from types import TracebackType

DATA, HEADERS, RST, SETTINGS, PING, WINDOW = 0, 1, 3, 4, 6, 8
ACK, END_HEADERS = 1, 4
INITIAL_WINDOW, LONGEST_FRAME = 4, 16384


class Halves:
    """One connection with many calls. `sent` says how many bytes of each the server has taken."""

    def __init__(self, port: int, user: str = "ada") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._user = user
        self._initial, self._connection = 65535, 65535
        self._window: dict[int, int] = {}
        self._left: dict[int, int] = {}
        self._buffer = b""
        self.sent: dict[int, int] = {}
        self.ended: set[int] = set()
        self._socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(SETTINGS, 0, 0, b""))

    def begin(self, path: str, length: int) -> int:
        """A call whose message has so many bytes; all but the last of them will be sent."""
        stream = 2 * len(self.sent) + 1
        fields = {
            ":method": "POST",
            ":scheme": "http",
            ":path": path,
            ":authority": "localhost",
            "content-type": "application/grpc",
            "te": "trailers",
            "x-memory-user": self._user,
        }
        self._window[stream], self._left[stream], self.sent[stream] = self._initial, length + 4, 0
        self._socket.sendall(_frame(HEADERS, END_HEADERS, stream, b"".join(map(_literal, fields, fields.values()))))
        self._send(stream, struct.pack(">BI", 0, length))
        return stream

    def go_on(self, quiet: float) -> None:
        """Send what may be sent, until the server has asked for nothing more for so many seconds."""
        while True:
            for stream in self._left:
                while (room := min(self._connection, self._window[stream], self._left[stream], LONGEST_FRAME)) > 0:
                    self._send(stream, bytes(room))
            if not select.select([self._socket], [], [], quiet)[0] or not self.heard():
                return

    def _send(self, stream: int, data: bytes) -> None:
        self._socket.sendall(_frame(DATA, 0, stream, data))
        self._connection -= len(data)
        self._window[stream] -= len(data)
        self._left[stream] -= len(data)
        self.sent[stream] += len(data)

    def heard(self) -> bool:
        """Hear what the server says next; whether it says anything more."""
        got = self._socket.recv(65536)
        self._buffer += got
        while len(self._buffer) >= 9:
            length, kind, flags, stream = int.from_bytes(self._buffer[:3]), *struct.unpack(">BBI", self._buffer[3:9])
            if len(self._buffer) < 9 + length:
                break
            self._hear(kind, flags, stream, self._buffer[9 : 9 + length])
            self._buffer = self._buffer[9 + length :]
        return bool(got)

    def _hear(self, kind: int, flags: int, stream: int, body: bytes) -> None:
        if kind == SETTINGS and not flags & ACK:
            told = dict(struct.iter_unpack(">HI", body))
            more = told.get(INITIAL_WINDOW, self._initial) - self._initial
            self._initial += more
            self._window = {one: window + more for one, window in self._window.items()}
            self._socket.sendall(_frame(SETTINGS, ACK, 0, b""))
        elif kind == PING and not flags & ACK:
            self._socket.sendall(_frame(PING, ACK, 0, body))
        elif kind == WINDOW and stream == 0:
            self._connection += int.from_bytes(body)
        elif kind == WINDOW and stream in self._window:
            self._window[stream] += int.from_bytes(body)
        elif kind in (RST, HEADERS):
            self._left.pop(stream, None)
            self.ended.add(stream)

    def __enter__(self) -> Halves:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()


def _frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    return len(body).to_bytes(3) + struct.pack(">BBI", kind, flags, stream) + body


def _literal(name: str, value: str) -> bytes:
    """A header of HPACK that neither side remembers."""
    return b"\0" + b"".join(bytes([len(one)]) + one.encode() for one in (name, value))
