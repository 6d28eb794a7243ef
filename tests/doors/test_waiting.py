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


@pytest.fixture
def limited(home: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Service, str]]:
    """A service that allows two calls a second, and a key."""
    monkeypatch.setenv("AGENT_MEMORY_RATE_LIMIT", "2")
    with AgentMemory("ada") as memory:
        secret = memory.keys.create("laptop").secret
    service = Service()
    yield service, secret
    service.close()


@pytest.mark.requirement("P23")
def test_rest_says_in_how_many_seconds(limited: tuple[Service, str], one_server: Any) -> None:
    service, secret = limited
    one_server.app = create_app(service)
    sent = {"authorization": f"Bearer {secret}"}
    answers = [httpx.get(f"{one_server.url}/v1/records", headers=sent) for _ in range(6)]
    refused = [one for one in answers if one.status_code == 429]
    assert refused and all(one.headers["retry-after"] == "1" for one in refused)
    assert all("retry-after" not in one.headers for one in answers if one.status_code == 200)
    time.sleep(1)
    assert httpx.get(f"{one_server.url}/v1/records", headers=sent).status_code == 200


def test_our_client_waits_and_comes_again(limited: tuple[Service, str], one_server: Any) -> None:
    service, secret = limited
    one_server.app = create_app(service)
    memory = AgentMemory("ada", store=one_server.url, api_key=secret)
    begun = time.monotonic()
    for number in range(5):  # two at once, then two a second: no call is lost, and none is done twice
        memory.records.add(f"note {number}")
    assert time.monotonic() - begun > 1
    time.sleep(1)
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
