"""What the server tells about itself, to whoever only has its address."""

from __future__ import annotations

import pytest
from foreign import PACKAGE, Foreign
from google.protobuf import descriptor_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from tools import run

from agent_memory.app.operations import TABLE
from agent_memory.interfaces.grpc.door import GrpcDoor
from agent_memory.interfaces.grpc.schema import FILE, schema
from patience import PATIENCE

pytestmark = pytest.mark.requirement("T8")


def asked(client: Foreign, **question: str) -> reflection_pb2.ServerReflectionResponse:
    stub = reflection_pb2_grpc.ServerReflectionStub(client.channel)
    return next(
        iter(stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(**question)]), timeout=PATIENCE))
    )


def file_of(answer: reflection_pb2.ServerReflectionResponse) -> descriptor_pb2.FileDescriptorProto:
    files = map(descriptor_pb2.FileDescriptorProto.FromString, answer.file_descriptor_response.file_descriptor_proto)
    (found,) = [one for one in files if one.name == FILE]
    return found


def test_every_symbol_is_found_and_methods_are_some(client: Foreign) -> None:
    methods = [method.path.removeprefix("/").replace("/", ".") for method in schema().methods]
    for symbol in (f"{PACKAGE}.RecordsService", f"{PACKAGE}.Record", f"{PACKAGE}.Record.text", *methods):
        assert file_of(asked(client, file_containing_symbol=symbol)), symbol
    for wrong in (f"{PACKAGE}.RecordsService.Nothing", f"{PACKAGE}.Nothing.Add", "nothing", ""):
        assert asked(client, file_containing_symbol=wrong).HasField("error_response"), wrong


def test_comments_travel_along(client: Foreign) -> None:
    file = file_of(asked(client, file_by_filename=FILE))
    said = {tuple(one.path): one.leading_comments for one in file.source_code_info.location}
    place, service = next((at, one) for at, one in enumerate(file.service) if one.name == "RecordsService")
    inner = [one.name for one in service.method].index("Add")
    assert said[6, place, 2, inner].strip().startswith(TABLE["records.add"].summary)
    message = [one.name for one in file.message_type].index("Written")
    assert "What a write came to" in said[4, message]
    assert file.options.go_package.endswith(";agentmemoryv1")


@pytest.mark.foreign
def test_grpcurl_describes_and_calls(door: GrpcDoor) -> None:
    at = f"127.0.0.1:{door.port}"
    shown = run("grpcurl", "-plaintext", at, "describe", f"{PACKAGE}.RecordsService.Add")
    assert "rpc Add" in shown.stdout and "Store one memory" in shown.stdout, shown.stderr
    shown = run("grpcurl", "-plaintext", at, "describe", f"{PACKAGE}.RecordsServiceAddRequest")
    assert "string text = 1" in shown.stdout, shown.stderr
    said = ["-plaintext", "-H", "x-memory-user: ada", "-d", '{"text": "Zoë likes tea"}', at]
    added = run("grpcurl", *said, f"{PACKAGE}.RecordsService/Add")
    assert '"effect": "created"' in added.stdout, added.stderr
