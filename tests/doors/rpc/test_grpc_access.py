"""Who may call over gRPC, where it listens, and what it says about itself."""

from __future__ import annotations

import subprocess
import sys

import grpc
import pytest
from calling import refused
from foreign import PACKAGE, Foreign
from grpc_health.v1 import health_pb2, health_pb2_grpc

from agent_memory import AgentMemory
from agent_memory.app.service import Service
from agent_memory.interfaces.grpc.door import GrpcDoor
from agent_memory.interfaces.grpc.server import start
from agent_memory.models.errors import InvalidInput
from patience import PATIENCE


@pytest.mark.requirement("P23")
def test_from_the_first_key_on_a_key_is_asked_for(service: Service, door: GrpcDoor, client: Foreign) -> None:
    client.call("RecordsService/Add", {"text": "before"})
    code, _, told = refused(lambda: client.call("KeysService/Create", {"label": "the first"}))
    assert code is grpc.StatusCode.PERMISSION_DENIED and "agent-memory keys create" in told["memory-hint"]
    with AgentMemory("ada") as owner:
        reading = owner.keys.create("reader", ["read"])
    code, _, told = refused(lambda: client.call("RecordsService/Find"))
    assert (code, told["memory-code"]) == (grpc.StatusCode.UNAUTHENTICATED, "unauthenticated")
    code, _, _ = refused(lambda: next(client.stream("StreamService/Export")[1]))
    assert code is grpc.StatusCode.UNAUTHENTICATED
    holder = Foreign(door.port, token=reading.secret)
    assert len(holder.call("RecordsService/Find")) == 1
    assert len(list(holder.stream("StreamService/Export")[1])) == 1
    assert refused(lambda: holder.call("RecordsService/Add", {"text": "x"}))[0] is grpc.StatusCode.PERMISSION_DENIED
    assert refused(lambda: holder.send("StreamService/Import", [{"text": "x"}]))[0] is grpc.StatusCode.PERMISSION_DENIED
    code, _, _ = refused(lambda: Foreign(door.port, token="am_wrong").call("RecordsService/Find"))
    assert code is grpc.StatusCode.UNAUTHENTICATED
    assert health_pb2_grpc.HealthStub(client.channel).Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)


@pytest.mark.requirement("P23")
def test_a_key_that_ends_ends_its_streams(
    service: Service, door: GrpcDoor, client: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_memory.app.service.RENEW_SECONDS", 0.1)
    client.call("RecordsService/Add", {"text": "a line to begin with"})
    with AgentMemory("ada") as owner:
        key = owner.keys.create("reader")
    _, lines = Foreign(door.port, token=key.secret).stream("StreamService/Journal")
    assert next(lines)
    with AgentMemory("ada") as owner:
        owner.keys.revoke(key.id)
    with pytest.raises(grpc.RpcError) as raised:
        list(lines)
    assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_health_is_told(door: GrpcDoor) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{door.port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", f"{PACKAGE}.RecordsService"):
            told = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=PATIENCE)
            assert told.status == health_pb2.HealthCheckResponse.SERVING


def test_where_it_listens_is_checked(service: Service, door: GrpcDoor) -> None:
    with pytest.raises(InvalidInput, match="port"):
        start(service, port=door.port)
    with pytest.raises(InvalidInput, match="no key is asked for"):
        start(service, host="0.0.0.0", port=0)
    with start(service, host="localhost", port=0) as other:
        assert other.port


def test_a_missing_part_is_named(home: object) -> None:
    code = """
import sys
sys.modules["grpc"] = None
from agent_memory.app.service import Service
from agent_memory.interfaces.grpc.server import start
from agent_memory.models.errors import PartMissing
try:
    start(Service(), port=0)
except PartMissing as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert "grpcio is not installed" in ran.stdout and "agent-memory[server,grpc]" in ran.stdout, ran.stderr
