"""Callers who do not wait: at every door, what they asked is stopped if it reads, and finished if it writes."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import grpc
import httpx
import pytest
from foreign import Foreign

from agent_memory import AgentMemory
from agent_memory.app.namespaces import Records
from agent_memory.app.operations import TABLE, Permission, operation
from agent_memory.app.service import ABANDONED, Service
from agent_memory.interfaces.grpc.server import start
from agent_memory.interfaces.rest.app import create_app
from patience import PATIENCE, until

SOON = 0.5  # seconds that a caller waits
BEGAN = "began"
ENDLESS = "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n"


@pytest.fixture
def outcomes(home: object) -> Iterator[list[tuple[str, str]]]:
    """A question that has no end, a write that takes a while, and what became of each call: it began, then what
    the service tells."""
    became: list[tuple[str, str]] = []

    def look(self: Records) -> int:
        """Read without end."""
        with self._client.runtime.store.records._connections.reading() as connection:  # type: ignore[attr-defined]
            became.append(("records.look", BEGAN))
            found: int = connection.execute(ENDLESS).fetchone()[0]
            return found

    def slowly(self: Records, text: str) -> None:
        """Write, after a while."""
        became.append(("records.slowly", BEGAN))
        time.sleep(2 * SOON)
        self.add(text)

    Records.look = operation("records.look", "GET /look")(look)  # type: ignore[attr-defined]
    wrote = operation("records.slowly", "POST /slowly", permission=Permission.WRITE)(slowly)
    Records.slowly = wrote  # type: ignore[attr-defined]
    yield became
    for name in ("look", "slowly"):
        delattr(Records, name)
        del TABLE[f"records.{name}"]


@pytest.fixture
def service(outcomes: list[tuple[str, str]]) -> Iterator[Service]:
    opened = Service()
    yield opened
    opened.close()


def noting(service: Service, outcomes: list[tuple[str, str]]) -> None:
    service.observe = lambda operation, outcome, seconds: outcomes.append((operation.name, outcome))


def waited_for(outcomes: list[tuple[str, str]], *wanted: tuple[str, str]) -> None:
    until(lambda: set(wanted) <= set(outcomes))


def sent(url: str, method: str, path: str, body: bytes = b"") -> socket.socket:
    at = urlsplit(url)
    wire = socket.create_connection((at.hostname, at.port), timeout=PATIENCE)
    head = f"{method} {path} HTTP/1.1\r\nHost: {at.netloc}\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    wire.sendall(head.encode() + b"\r\n" + body)
    return wire


def test_a_client_that_hangs_up_is_not_worked_for(
    service: Service, outcomes: list[tuple[str, str]], one_server: object
) -> None:
    one_server.app = create_app(service)  # type: ignore[attr-defined]
    noting(service, outcomes)
    url: str = one_server.url  # type: ignore[attr-defined]
    for method, path, body in (("GET", "/v1/look", b""), ("POST", "/v1/call/records.look", b"{}")):
        outcomes.clear()
        wire = sent(url, method, path, body)
        waited_for(outcomes, ("records.look", BEGAN))
        wire.close()
        waited_for(outcomes, ("records.look", ABANDONED))
    wire = sent(url, "POST", "/v1/slowly", json.dumps({"text": "kept"}).encode())
    waited_for(outcomes, ("records.slowly", BEGAN))
    wire.close()
    waited_for(outcomes, ("records.slowly", "ok"))
    assert [one["text"] for one in httpx.get(f"{url}/v1/records", timeout=PATIENCE).json()] == ["kept"]


def test_a_read_that_takes_too_long_is_stopped(
    service: Service, outcomes: list[tuple[str, str]], one_server: object
) -> None:
    one_server.app = create_app(service, answer_seconds=SOON)  # type: ignore[attr-defined]
    noting(service, outcomes)
    url: str = one_server.url  # type: ignore[attr-defined]
    assert httpx.get(f"{url}/v1/look", timeout=PATIENCE).json()["code"] == "too_slow"
    waited_for(outcomes, ("records.look", ABANDONED))
    assert httpx.post(f"{url}/v1/slowly", json={"text": "kept"}, timeout=PATIENCE).status_code == 504
    waited_for(outcomes, ("records.slowly", "ok"))
    with AgentMemory("default") as memory:  # who has more patience
        assert [one.text for one in memory.records.find()] == ["kept"]


def test_a_grpc_deadline_stops_a_read(service: Service, outcomes: list[tuple[str, str]]) -> None:
    noting(service, outcomes)
    with start(service, port=0) as door, contextlib.closing(Foreign(door.port)) as client:
        with pytest.raises(grpc.RpcError) as raised:
            client.call("RecordsService/Look", timeout=SOON)
        assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        waited_for(outcomes, ("records.look", ABANDONED))
        with pytest.raises(grpc.RpcError):
            client.call("RecordsService/Slowly", {"text": "kept"}, timeout=SOON)
        waited_for(outcomes, ("records.slowly", "ok"))
    assert service.runtime.store.index.pending(service.runtime.embedding.space) == 0
