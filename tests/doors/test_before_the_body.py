"""What is decided before a body is read, and what a body may not take from everybody else."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator
from wires import Wire, answering, status

from agent_memory import AgentMemory
from agent_memory.app.namespaces import Records
from agent_memory.app.operations import TABLE, operation
from agent_memory.app.service import Service
from agent_memory.app.weight import MOST_VALUES
from agent_memory.interfaces.mcp.http import MOST_BYTES as MOST_OF_MCP
from agent_memory.interfaces.mcp.latent import mount
from agent_memory.interfaces.rest import answers
from agent_memory.interfaces.rest.app import create_app
from agent_memory.interfaces.rest.heads import TimedConnection
from agent_memory.interfaces.rest.limits import SMALL_BYTES
from agent_memory.models.model import Model
from patience import FOREVER, PATIENCE, until

PATHS = (
    "/v1/records",
    "/v1/call/records.add",
    "/v1/call/nothing",
    "/v1/import",
    "/memory/store",
    "/mcp",
    "/mcp/compat",
    "/nowhere",
)
LARGE = 24 * 2**20  # more than a request may have


def head(path: str, *more: str, length: int = 100) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Content-Type: application/json", f"Content-Length: {length}", *more)
    return "\r\n".join((*lines, "", "")).encode()


HERE = "Host: localhost"


class Patient(TimedConnection):
    seconds = FOREVER  # what is slow here is the machine


@contextlib.contextmanager
def serving(service: Service, heads: type[TimedConnection] = Patient, **limits: float) -> Iterator[Wire]:
    with answering(app_of(service, **limits), heads) as wire:
        yield wire


def app_of(service: Service, **limits: float) -> Any:
    app = create_app(service, **limits)
    mount(app, service, app.state.identify)
    mount(app, service, app.state.identify, toolsets=["compat"], path="/mcp/compat")
    return app


@pytest.fixture
def key(home: object) -> str:
    with AgentMemory("ada") as memory:
        return str(memory.keys.create("reader", permissions=["read", "write"]).secret)


# -- who calls is asked first


@pytest.mark.requirement("P23")
def test_a_stranger_is_refused_by_the_head_alone(key: str) -> None:
    """None of the body is ever sent."""
    bearer = f"Authorization: Bearer {key}"
    refused = {
        401: [(HERE,), (HERE, "Authorization: Bearer am_wrong"), (HERE, "Transfer-Encoding: chunked")],
        421: [("Host: evil.example",)],
        403: [(HERE, "Origin: https://evil.example"), (HERE, bearer, "X-Memory-Tenant: another")],
        422: [(HERE, bearer, "X-Memory-User: %ff")],
    }
    sent = [(path, lines, code) for path in PATHS for code, several in refused.items() for lines in several]

    def answered(path: str, lines: tuple[str, ...]) -> int:
        data = head(path, *lines)
        if "Transfer-Encoding: chunked" in lines:
            data = data.replace(b"Content-Length: 100\r\n", b"")
        return status(wire.send(data))

    with serving(Service()) as wire:
        with ThreadPoolExecutor(8) as pool:  # the server waits a while for a body before it hangs up
            codes = list(pool.map(lambda one: answered(*one[:2]), sent))
        assert [(path, lines, code) for (path, lines, _), code in zip(sent, codes, strict=True)] == sent
        broken = head("/v1/records", HERE, "Connection: close", length=9) + b"no json!!"
        assert status(wire.send(broken)) == 401, "never a remark about the body before that about the key"


def test_too_many_calls_are_refused_by_the_head_alone(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_RATE_LIMIT", "0.001")
    with serving(Service()) as wire:
        bearer = f"Authorization: Bearer {key}"
        get = f"GET /v1/records HTTP/1.1\r\n{HERE}\r\n{bearer}\r\nConnection: close\r\n\r\n".encode()
        assert status(wire.send(get)) == 200
        said = wire.send(head("/v1/records", HERE, bearer))
        assert status(said) == 429 and b"retry-after" in said


# -- whoever sends too much gets to read why


@pytest.mark.requirement("P23")
@pytest.mark.parametrize("token", ["right", "wrong"])
def test_who_sends_too_much_is_told_so(key: str, token: str) -> None:
    """A client that reads only once it has sent everything, as most do."""
    with serving(Service()) as wire:
        bearer = {"Authorization": f"Bearer {key if token == 'right' else 'am_wrong'}"}
        for chunked in (False, True):
            body: Any = (b" " * 2**20 for _ in range(LARGE // 2**20)) if chunked else b" " * LARGE
            client = http.client.HTTPConnection("127.0.0.1", wire.port, timeout=PATIENCE)
            with contextlib.closing(client):
                client.request("POST", "/v1/records", body, {"Content-Type": "application/json", **bearer})
                answer = client.getresponse()
                told = json.loads(answer.read())
            wanted = (413, "too_large") if token == "right" else (401, "unauthenticated")
            assert (answer.status, told["code"]) == wanted


def test_what_is_dropped_is_bounded(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who never stops is hung up on."""
    monkeypatch.setattr(answers, "DROPPED_BYTES", 2**20)
    with serving(Service()) as wire, wire.open() as one:
        one.sendall(head("/v1/records", HERE, length=10**12))
        with pytest.raises(OSError):
            while True:
                one.sendall(b" " * 2**20)


# -- room


@pytest.mark.requirement("P23")
def test_bodies_that_never_end_hold_no_more_than_there_is_room_for(home: object) -> None:
    """What is refused is let go; few large ones do not keep out a small one."""
    held, size = 2**20, 300 * 2**10
    with serving(Service(), held_bytes=held, body_seconds=FOREVER) as wire:
        several = [wire.open() for _ in range(8)]
        for one in several:
            one.sendall(head("/v1/records", HERE, length=size + 1) + b" " * size)
        kept = held // (size - SMALL_BYTES)
        until(lambda: len(_answered(several)) == len(several) - kept)
        assert all(status(one.recv(65536)) == 503 for one in _answered(several))
        small = b'{"text": "small"}'
        said = wire.send(head("/v1/records", HERE, "Connection: close", length=len(small)) + small)
        assert status(said) == 200
        said = wire.send(head("/v1/records", HERE, length=size + 1) + b" " * size)
        assert status(said) == 503 and b"retry-after" in said and b"too_busy" in said
        for one in several:
            one.close()
        whole = b'{"text": "large", "payload": {"x": "%s"}}' % (b"y" * size)
        large = head("/v1/records", HERE, "Connection: close", length=len(whole)) + whole
        while status(said := wire.send(large)) == 503:
            pass  # the server has not noticed yet that they are gone
        assert status(said) == 200


def _answered(several: list[socket.socket]) -> list[socket.socket]:
    """Those that have something to read."""
    return select.select(several, [], [], 0)[0]


class Few(Patient):
    most = 4


def test_connections_are_counted(home: object) -> None:
    with serving(Service(), Few) as wire:
        several = [wire.open() for _ in range(Few.most)]
        said = wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status(said) == 503 and b"Retry-After" in said and b"too_busy" in said
        for one in several:
            one.close()
        while status(wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) == 503:
            pass  # they are not gone yet


# -- the event loop


class Gate:
    """A value that is not checked before somebody else was answered."""

    opened = threading.Event()

    @classmethod
    def check(cls, value: str) -> str:
        assert cls.opened.wait(PATIENCE), "whoever could open it was never heard"
        return value


@operation("records.wait", "POST /toys/wait")
def wait(self: Records, text: Annotated[str, AfterValidator(Gate.check)]) -> str:
    """Say it once the gate is open."""
    return text


@operation("records.open", "POST /toys/open")
def open_gate(self: Records) -> bool:
    """Open the gate."""
    Gate.opened.set()
    return True


TOYS = {name: TABLE.pop(name) for name in ("records.wait", "records.open")}


@pytest.fixture
def toys(home: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    Gate.opened.clear()
    for name, toy in TOYS.items():
        monkeypatch.setitem(TABLE, name, toy)
        monkeypatch.setattr(Records, name.removeprefix("records."), toy.function, raising=False)
    yield


@pytest.mark.requirement("P23")
@pytest.mark.parametrize("path", ["/v1/toys/wait", "/v1/call/records.wait"])
def test_others_are_answered_while_a_body_is_checked(toys: None, path: str) -> None:
    with serving(Service()) as wire, wire.open() as waiting:
        body = b'{"text": "checked"}'
        waiting.sendall(head(path, HERE, "Connection: close", length=len(body)) + body)
        assert status(wire.send(head("/v1/toys/open", HERE, "Connection: close", length=2) + b"{}")) == 200
        assert status(waiting.recv(65536)) == 200


# -- values


@pytest.mark.requirement("P23")
@pytest.mark.parametrize("path", ["/v1/records", "/v1/call/records.add", "/memory/store", "/mcp", "/mcp/compat"])
def test_a_body_of_too_many_values_is_never_parsed(home: object, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever parses it holds the interpreter, and everybody waits."""
    many = json.dumps({"text": "x", **{str(number): 1 for number in range(MOST_VALUES)}}).encode()
    parsed: list[int] = []
    loads = json.loads
    monkeypatch.setattr(json, "loads", lambda text, **how: parsed.append(len(text)) or loads(text, **how))
    with serving(Service()) as wire:
        accept = "Accept: application/json, text/event-stream"
        said = wire.send(head(path, HERE, accept, "Connection: close", length=len(many)) + many)
    assert status(said) == 413 and b"too_large" in said and b"in several parts" in said
    assert len(many) not in parsed


def test_a_line_of_too_many_values_is_never_parsed(home: object) -> None:
    many = json.dumps({"text": "x", "payload": {str(number): 1 for number in range(MOST_VALUES)}}).encode()
    lines = b'{"text": "small"}\n' + many
    with serving(Service()) as wire:
        said = wire.send(head("/v1/import", HERE, "Connection: close", length=len(lines)) + lines)
    told = json.loads(said.partition(b"\r\n\r\n")[2])
    assert status(said) == 422 and (told["line"], told["imported"]) == (2, 1) and "values" in told["detail"]


def test_mcp_takes_no_more_than_a_long_text(home: object) -> None:
    """Its bodies are parsed on the event loop."""
    body = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "%s"}}' % (b"y" * MOST_OF_MCP)
    with serving(Service()) as wire:
        accept = "Accept: application/json, text/event-stream"
        said = wire.send(head("/mcp", HERE, accept, "Connection: close", length=len(body)) + body)
    assert status(said) == 413


# -- unknown fields


class Nested(Model):
    number: int = 0


class Outer(Model):
    one: Nested | None = None
    text: str = ""


def test_unknown_fields_stop_at_the_first(home: object) -> None:
    many = {f"unknown{number}": number for number in range(50_000)}
    with serving(Service()) as wire:
        for path, field in (("/v1/records", "text"), ("/v1/call/records.add", "text"), ("/memory/store", "context")):
            body = json.dumps({field: "x", **many}).encode()
            said = wire.send(head(path, HERE, "Connection: close", length=len(body)) + body)
            assert status(said) == 422
            told = json.loads(said.partition(b"\r\n\r\n")[2])
            assert "unknown1" not in json.dumps(told), "the first is named, and no other"
            assert told["field"] == "unknown0"


@pytest.mark.parametrize(
    "said", [{"text": "", **dict.fromkeys(map(str, range(1000)))}, {"one": dict.fromkeys(map(str, range(1000)))}]
)
def test_no_error_is_made_for_each_of_a_thousand(said: dict[str, Any]) -> None:
    with pytest.raises(ValueError) as refused:
        Outer.__pydantic_validator__.validate_python(said)
    assert refused.value.error_count() == 1  # type: ignore[attr-defined]
