"""Callers with more calls than their key may make are told when to come again, and our client does so by itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import grpc
import httpx
import pytest
from foreign import Foreign
from google.protobuf.duration_pb2 import Duration

from agent_memory import AgentMemory
from agent_memory.app.service import Service
from agent_memory.interfaces.grpc import status
from agent_memory.interfaces.grpc.server import start
from agent_memory.interfaces.rest.app import create_app
from patience import PATIENCE


class Standing:
    """Time that passes only while somebody sleeps: for the service that counts calls, and for our client."""

    perf_counter = staticmethod(time.perf_counter)

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def standing(monkeypatch: pytest.MonkeyPatch) -> Standing:
    clock = Standing()
    monkeypatch.setattr("agent_memory.app.service.time", clock)
    monkeypatch.setattr("agent_memory.app.wire.time", clock)
    return clock


@pytest.fixture
def limited(home: object, standing: Standing, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Service, str]]:
    """A service that allows two calls a second, and a key."""
    monkeypatch.setenv("AGENT_MEMORY_RATE_LIMIT", "2")
    with AgentMemory("ada") as memory:
        secret = memory.keys.create("laptop").secret
    service = Service()
    yield service, secret
    service.close()


@pytest.mark.requirement("P23")
def test_rest_says_in_how_many_seconds(limited: tuple[Service, str], standing: Standing, one_server: Any) -> None:
    service, secret = limited
    one_server.app = create_app(service)
    sent = {"authorization": f"Bearer {secret}"}
    answers = [httpx.get(f"{one_server.url}/v1/records", headers=sent, timeout=PATIENCE) for _ in range(6)]
    assert [one.status_code for one in answers] == [200] * 2 + [429] * 4
    assert [one.headers.get("retry-after") for one in answers] == [None] * 2 + ["1"] * 4
    standing.sleep(1)
    assert httpx.get(f"{one_server.url}/v1/records", headers=sent, timeout=PATIENCE).status_code == 200


def test_our_client_waits_and_comes_again(limited: tuple[Service, str], standing: Standing, one_server: Any) -> None:
    service, secret = limited
    one_server.app = create_app(service)
    memory = AgentMemory("ada", store=one_server.url, api_key=secret)
    for number in range(5):  # two at once, then two a second: no call is lost, and none is done twice
        memory.records.add(f"note {number}")
    assert standing.now >= 1
    assert len(memory.records.find()) == 5


def test_grpc_says_it_in_its_two_ways(limited: tuple[Service, str]) -> None:
    service, secret = limited
    with start(service, port=0) as door:
        client = Foreign(door.port, token=secret)
        with pytest.raises(grpc.RpcError) as raised:
            for _ in range(9):
                client.call("RecordsService/Find")
        client.close()
    assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    told = dict(raised.value.trailing_metadata())
    assert 0 < int(told["grpc-retry-pushback-ms"]) <= 500
    details = status._STATUS.FromString(told["grpc-status-details-bin"]).details
    info, retry = details
    assert info.type_url.endswith("google.rpc.ErrorInfo") and retry.type_url.endswith("google.rpc.RetryInfo")
    assert retry.value[:1] == b"\x0a", "field 1, a message, as google.rpc has it"
    assert 0 < Duration.FromString(retry.value[2:]).ToMilliseconds() <= 500
