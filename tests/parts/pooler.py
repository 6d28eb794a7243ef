"""A pooler in transaction mode, after PgBouncer 1.21 and newer, which no package brings to every machine. It is a
stand-in, and not PgBouncer: it speaks the protocol, hands each transaction to whichever connection is free, never
twice in a row to the same one if it can help it, and prepares a client's statements where that connection lacks them.
Settings of a session, temporary tables, LISTEN and locks of a session are lost, or left to somebody else, as they are
there."""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

PROTOCOL, CANCEL, TLS, GSS = 196608, 80877102, 80877103, 80877104
_counted = count(1)


class _Pipe:
    """One end of a connection, message by message."""

    def __init__(self, end: socket.socket) -> None:
        self.end, self._data = end, b""
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def arrived(self) -> list[bytes]:
        """All that are whole; `EOFError` where there will be none."""
        if not (data := self.end.recv(65536)):
            raise EOFError
        self._data += data
        whole = []
        while len(self._data) >= 5 and len(self._data) > (size := struct.unpack_from("!I", self._data, 1)[0]):
            whole.append(self._data[: size + 1])
            self._data = self._data[size + 1 :]
        return whole

    def first(self) -> bytes:
        """What a connection begins with has no letter before it."""
        (size,) = struct.unpack("!I", self.exactly(4))
        return self.exactly(size - 4)

    def exactly(self, size: int) -> bytes:
        while len(self._data) < size:
            if not (data := self.end.recv(65536)):
                raise EOFError
            self._data += data
        taken, self._data = self._data[:size], self._data[size:]
        return taken


class _Backend(_Pipe):
    """A connection to the server, and which statements of which clients it has."""

    def __init__(self, port: int, asked: bytes) -> None:
        super().__init__(socket.create_connection(("127.0.0.1", port)))
        self.prepared: set[bytes] = set()
        self.said: list[bytes] = []  # its parameters
        self.key = b""
        self.end.sendall(struct.pack("!I", len(asked) + 4) + asked)
        for one in self.until_ready():
            if one[:1] == b"S":
                self.said.append(one)
            if one[:1] == b"K":
                self.key = one[5:]

    def until_ready(self) -> list[bytes]:
        told: list[bytes] = []
        while not told or told[-1][:1] != b"Z":
            told += self.arrived()
        return told


class Pooler:
    """`backends` connections for each role and database; `handed` counts the transactions that each has had."""

    def __init__(self, port: int, backends: int) -> None:
        self._target, self._most = port, backends
        self._free: dict[bytes, deque[_Backend]] = {}
        self._said: dict[bytes, list[bytes]] = {}
        self._held: dict[bytes, _Backend] = {}  # by the key of the client
        self._changed = threading.Condition()
        self._closed = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.handed: dict[int, int] = {}
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()
        with self._changed:
            self._closed = True
            for one in (one for free in self._free.values() for one in free):
                one.end.close()

    def left_behind(self) -> list[bytes]:
        """What was set for a session, on any connection that nobody uses."""
        asked = _message(b"Q", b"select name from pg_settings where source = 'session' and name <> 'client_encoding'\0")
        found = []
        with self._changed:
            for one in (one for free in self._free.values() for one in free):
                one.end.sendall(asked)
                found += [row for row in one.until_ready() if row[:1] == b"D"]
        return found

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._served, args=(_Pipe(client),), daemon=True).start()

    def _served(self, client: _Pipe) -> None:
        with suppress(OSError, EOFError), client.end:
            while (kind := struct.unpack_from("!I", asked := client.first())[0]) in (TLS, GSS):
                client.end.sendall(b"N")
            if kind == CANCEL:
                self._cancel(asked[4:])
                return
            assert kind >= PROTOCOL
            _Served(self, client, struct.pack("!I", PROTOCOL) + asked[4:]).run()

    def _cancel(self, key: bytes) -> None:
        if (held := self._held.get(key)) is not None:
            with socket.create_connection(("127.0.0.1", self._target)) as once:
                once.sendall(struct.pack("!II", 8 + len(held.key), CANCEL) + held.key)

    def greeting(self, asked: bytes) -> list[bytes]:
        """What a server says of itself, once there is a connection to it."""
        with self._changed:
            free = self._free.setdefault(asked, deque())
            if asked not in self._said:
                free.extend(_Backend(self._target, asked) for _ in range(self._most))
                self._said[asked] = free[0].said
            return self._said[asked]

    def taken(self, asked: bytes, key: bytes) -> _Backend:
        with self._changed:
            free = self._free[asked]
            while not free:
                self._changed.wait()
            one = self._held[key] = free.popleft()  # the one that has waited longest
            self.handed[id(one)] = self.handed.get(id(one), 0) + 1
            return one

    def given_back(self, asked: bytes, key: bytes, one: _Backend, *, whole: bool) -> None:
        with self._changed:
            del self._held[key]
            if whole and not self._closed:
                self._free[asked].append(one)
                self._changed.notify_all()
                return
            one.end.close()
            if not self._closed:
                self._free[asked].append(_Backend(self._target, asked))
            self._changed.notify_all()


class _Served:
    """One client."""

    def __init__(self, pooler: Pooler, client: _Pipe, asked: bytes) -> None:
        self._pooler, self._client, self._asked = pooler, client, asked
        self._number = next(_counted)
        self._key = struct.pack("!II", self._number, self._number)
        self._statements: dict[bytes, bytes] = {}
        self._backend: _Backend | None = None
        self._expected = deque[bytes | None]()  # answers to come: of a statement that is prepared, or (None) to a sync
        self._unasked = set[bytes | None]()  # those of them that the client does not wait for
        self._open = False  # whether something was said since the last sync

    def run(self) -> None:
        said = self._pooler.greeting(self._asked)
        greeting = [_message(b"R", b"\0\0\0\0"), *said, _message(b"K", self._key), _message(b"Z", b"I")]
        self._client.end.sendall(b"".join(greeting))
        try:
            while True:
                ends = [self._client.end, *([self._backend.end] if self._backend else [])]
                ready = select.select(ends, [], [])[0]
                if self._backend is not None and self._backend.end in ready:
                    self._answers(self._backend)
                if self._client.end in ready:
                    self._requests()
        finally:
            if self._backend is not None:
                self._pooler.given_back(self._asked, self._key, self._backend, whole=False)

    def _requests(self) -> None:
        for one in self._client.arrived():
            if one[:1] == b"X":
                raise EOFError
            if self._backend is None and one[:1] == b"H":
                continue  # who leaves a pipeline may ask once more for what was answered already
            if self._backend is None:
                self._backend = self._pooler.taken(self._asked, self._key)
            self._say(one, self._backend)

    def _say(self, one: bytes, backend: _Backend) -> None:
        """With names of statements that no other client has, after those that are not known over there."""
        kind, body, name, own = one[:1], one[5:], b"", b""
        if kind != b"H":  # which asks for answers, and opens nothing
            self._open = kind not in b"SQ"
        if kind == b"P":
            name, _, rest = body.partition(b"\0")
            one = _message(b"P", (own := self._own(name)) + b"\0" + rest)
            if name:
                self._statements[own] = one
        elif kind == b"B":
            portal, name, rest = body.split(b"\0", 2)
            one = _message(b"B", b"\0".join((portal, own := self._own(name), rest)))
        elif kind in b"DC" and body[:1] == b"S":
            name = body[1:-1]
            one = _message(kind, b"S" + (own := self._own(name)) + b"\0")
        if kind in b"BD" and name and own not in backend.prepared:
            backend.end.sendall(self._statements[own])
            self._expected.append(own)
            self._unasked.add(own)
        if kind in b"PBD" and name:
            backend.prepared.add(own)
        if kind == b"P":
            self._expected.append(own)
        if kind in b"SQ":
            self._expected.append(None)
        backend.end.sendall(one)

    def _answers(self, backend: _Backend) -> None:
        """Without those to what the client did not ask. What came after an error was not done, up to the next sync."""
        told = []
        for one in backend.arrived():
            kind = one[:1]
            own = self._expected.popleft() if kind == b"1" else None
            if own in self._unasked:
                self._unasked.discard(own)
                continue
            told.append(one)
            if kind == b"Z":
                while (own := self._expected.popleft()) is not None:
                    backend.prepared.discard(own)
                    self._unasked.discard(own)
                if one[5:] == b"I" and not self._expected and not self._open:
                    self._backend = None
                    self._pooler.given_back(self._asked, self._key, backend, whole=True)
        self._client.end.sendall(b"".join(told))

    def _own(self, name: bytes) -> bytes:
        return b"c%d %s" % (self._number, name) if name else name


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


@contextmanager
def pooled(port: int, backends: int = 2) -> Iterator[Pooler]:
    pooler = Pooler(port, backends)
    try:
        yield pooler
    finally:
        pooler.close()
