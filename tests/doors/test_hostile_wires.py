"""Requests that no client should send, on real connections: too large, broken, slow, half closed.

Each gets an answer that says so, or a closed connection; nothing is written by halves, and everybody else is served
meanwhile.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from foreign import Foreign
from wires import SECONDS, Wire, answering, status

from agent_memory.app import config
from agent_memory.app.service import Service
from agent_memory.interfaces.grpc.server import start
from agent_memory.interfaces.mcp.latent import mount
from agent_memory.interfaces.rest.app import create_app
from agent_memory.interfaces.rest.heads import TimedConnection
from patience import FOREVER

LARGE = 100 * 2**20
BODIES = {
    "rest": ("/v1/records", b'{"text": "hello"}', ""),
    "by name": ("/v1/call/records.add", b'{"text": "hello"}', ""),
    "mcp": (
        "/mcp",
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"text": "hi"}}}',
        "Accept: application/json, text/event-stream\r\n",
    ),
}


@contextlib.contextmanager
def serving(folder: Path, seconds: float) -> Iterator[Wire]:
    """REST and MCP as `agent-memory serve` has them, with so much patience for what is slow."""

    class Patient(TimedConnection):
        pass

    Patient.seconds = seconds
    service = Service(config.load(store=str(folder / "memory.db")))
    app = create_app(service, body_seconds=seconds)
    mount(app, service, app.state.identify)
    with answering(app, Patient) as wire:
        yield wire


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    with serving(tmp_path_factory.mktemp("wires"), SECONDS) as wire:
        yield wire


@pytest.fixture
def wire(listening: Wire) -> Iterator[Wire]:
    yield listening
    assert listening.stored() == 0, "nothing of it was taken for a memory"


def head(to: str, *more: str) -> bytes:
    path, _, accept = BODIES[to]
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *more]
    return ("\r\n".join(lines) + "\r\n" + accept + "\r\n").encode()


@pytest.mark.requirement("P23")
def test_heads_that_drip_are_given_up(wire: Wire) -> None:
    """Slowloris: every connection is closed, however steadily something comes."""
    silent, started = wire.open(), wire.open()
    started.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    seen = b""
    while not seen.endswith(b"}"):
        seen += started.recv(65536)
    started.sendall(b"GET /heal")
    with wire.open() as steady, pytest.raises(ConnectionError):
        steady.sendall(b"POST /v1/records HTTP/1.1\r\n")
        while True:
            steady.sendall(b"x: y\r\n")
            time.sleep(0.1)
    for one in (silent, started):
        assert one.recv(10) == b"", "it was closed"
        one.close()


def drips(wire: Wire) -> list[socket.socket]:
    several = [wire.open() for _ in range(60)]
    for place, one in enumerate(several):
        one.sendall((b"POST /v1/rec", head("rest")[:-2], head("mcp", "Content-Length: 100") + b"{")[place % 3])
    return several


def test_whoever_drips_holds_nobody_up(tmp_path: Path) -> None:
    """Here they are never given up."""
    with serving(tmp_path, FOREVER) as wire:
        several = drips(wire)
        assert wire.stored() == 0
        for one in several:
            one.close()


def test_whoever_drips_is_told_or_hung_up_on(wire: Wire) -> None:
    for one in drips(wire):
        with contextlib.suppress(ConnectionError):
            assert status(one.recv(65536)) in (0, 408)
        one.close()


@pytest.mark.parametrize("to", BODIES)
def test_bodies_that_do_not_end(wire: Wire, to: str) -> None:
    body = BODIES[to][1]
    length = f"Content-Length: {len(body)}"
    assert status(wire.send(head(to, length) + body[:-1])) == 408, "the last byte never comes"
    assert status(wire.send(head(to, length), *[b"{"] * 15, pause=0.1)) in (400, 408)
    assert status(wire.send(head(to, length) + body[:-1], half=True)) in (0, 400), "hung up in the middle"
    chunked = head(to, "Transfer-Encoding: chunked")
    assert status(wire.send(chunked + b"%x\r\n%s\r\n" % (len(body), body))) == 408, "no last chunk"
    assert status(wire.send(chunked + b"5\r\n{", half=True)) in (0, 400)
    assert status(wire.send(chunked + b"nonsense\r\n{}\r\n0\r\n\r\n")) == 400
    both = head(to, length, "Transfer-Encoding: chunked")
    assert status(wire.send(both + b"0\r\n\r\n" + body)) in (400, 422), "smuggling: a length, and chunks"


@pytest.mark.parametrize("to", BODIES)
def test_what_is_too_large(wire: Wire, to: str) -> None:
    mebibyte = b" " * 2**20
    said = wire.send(head(to, f"Content-Length: {LARGE}"), *[mebibyte] * (LARGE // 2**20))
    assert status(said) in (0, 413), "told at once, or hung up on while it still sent"
    chunks = [b"100000\r\n" + mebibyte + b"\r\n"] * (LARGE // 2**20)
    assert status(wire.send(head(to, "Transfer-Encoding: chunked"), *chunks)) in (0, 413)
    assert status(wire.send(head(to, f"Content-Length: {LARGE}"))) == 413
    for long in (f"x-long: {'y' * 2**20}", "\r\n".join(f"x-{number}: y" for number in range(100_000))):
        assert status(wire.send(head(to, long))) in (0, 400, 431)
    assert status(wire.send(b"GET /" + b"a" * 2**20 + b" HTTP/1.1\r\n\r\n")) in (0, 400, 414)


@pytest.mark.parametrize("to", BODIES)
@pytest.mark.parametrize(
    "body",
    [
        b"[" * 1_000_000,
        b'{"text":' * 200_000,
        b'{"text": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}",
        b'{"text": "\xff\xfe"}',
        b"\xef\xbb\xbf{",
        b'{"text": "\\ud800"}',
        b"\x00" * 1000,
        b'{"text": 1e999999}',
        b'{"text": ' + b"9" * 100_000 + b"}",
        b"",
    ],
    ids=range(10),
)
def test_bodies_that_say_nothing(wire: Wire, to: str, body: bytes) -> None:
    said = wire.send(head(to, f"Content-Length: {len(body)}", "Connection: close") + body)
    assert 400 <= status(said) < 500, said[:300]
    assert b"Traceback" not in said


def test_heads_that_say_nothing(wire: Wire) -> None:
    for broken in (
        b"NONSENSE\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS at a port that has none
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /v1/nowhere HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET /healthz/nowhere HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n{}",
        b"POST /v1/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}}",
        b"GET /v1/records HTTP/1.1\r\nHost: localhost\r\nX-Memory-User: a\x00b\r\n\r\n",
        b"GET /v1/records HTTP/1.1\r\nHost: localhost\r\nX-Memory-User: %ff\r\nConnection: close\r\n\r\n",
        b"GET /v1/records/%ff%fe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    ):
        assert status(wire.send(broken)) in (0, 400, 404, 421, 422), broken


# -- gRPC speaks HTTP/2: what is no HTTP/2 is closed


@pytest.fixture
def port(home: Path) -> Iterator[int]:
    service = Service()
    with start(service, port=0) as door:
        yield door.port
        client = Foreign(door.port)
        assert client.call("UpkeepService/Stats")["records"] == 0
        client.close()
    service.close()


PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def test_grpc_outlives_what_is_no_http2(port: int) -> None:
    wire = Wire(port)
    for broken in (
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
        PREFACE + b"\xff" * 1000,
        PREFACE + b"\xff\xff\xff\x01\x04\x00\x00\x00\x01" + b"\x00" * 1000,  # a frame of 16 MiB, of which little comes
        PREFACE[:20],
    ):
        wire.send(broken, half=True)
    idle = [wire.open() for _ in range(50)]
    for place, one in enumerate(idle):
        one.sendall((b"", PREFACE[:10], PREFACE)[place % 3])
    client = Foreign(port)
    assert client.call("UpkeepService/Stats")["records"] == 0
    client.close()
    for one in idle:
        one.close()


def test_grpc_refuses_what_is_too_large_or_broken(port: int) -> None:
    client = Foreign(port)

    def code(**call: Any) -> grpc.StatusCode:
        with pytest.raises(grpc.RpcError) as refused:
            client.raw("RecordsService/Add", **call)
        found: grpc.StatusCode = refused.value.code()
        return found

    assert code(body=b"\x0a" + b"\x80\x80\x80\x30" + b" " * LARGE) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert code(body=b"\x0a\x02\xff\xfe") is grpc.StatusCode.INVALID_ARGUMENT, "no UTF-8"
    assert code(body=b"\x0a\x7fshort") is grpc.StatusCode.INVALID_ARGUMENT
    client.metadata = [("x-memory-user", "y" * 2**20)]
    assert code(body=b"\x0a\x01x") in (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE)
    client.close()
