"""The gRPC door, asked by a client that has only an address: everything else it learns by reflection."""

from __future__ import annotations

import gc
from typing import Any

import grpc
import pytest
from calling import refused, toy
from foreign import Foreign

from agent_memory.app.namespaces import Records
from agent_memory.app.operations import TABLE
from agent_memory.app.service import CallerClaim, Service
from agent_memory.interfaces.grpc.door import MOST_BYTES, GrpcDoor
from agent_memory.interfaces.grpc.schema import schema
from agent_memory.interfaces.grpc.server import start

WRONG = {
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.UNAUTHENTICATED,
}


@pytest.mark.requirement("T8")
def test_every_operation_is_a_method_with_the_same_arguments(client: Foreign) -> None:
    methods = client.methods()
    for method in schema().methods:
        told = methods.pop(method.path.removeprefix("/"))
        assert [one.name for one in told.input_type.fields] == [one.name for one in method.request.fields]
        if method.operation is not None:
            assert {one.argument for one in method.request.fields} == set(method.operation.signature)
            code = grpc.StatusCode.OK
            try:
                client.raw(method.path.partition(".v1.")[2], b"")
            except grpc.RpcError as error:
                code = error.code()
            assert code not in WRONG, (method.operation.name, code)
    assert not methods
    assert {method.operation.name for method in schema().methods if method.operation} == set(TABLE)


@pytest.mark.requirement("T8")
def test_a_memory_is_written_and_recalled(client: Foreign) -> None:
    text = "Grüße aus Köln: der Zug fährt um 8:15 🚆"
    written = client.call("RecordsService/Add", {"text": text, "payload": {"n": 5, "deep": [1.5, None, {"a": True}]}})
    assert written["effect"] == "created"
    found = client.call("RetrieverService/Recall", {"query": "wann fährt der Zug?", "k": 3, "recipe": "default"})
    (hit,) = found["hits"]
    assert hit["record"]["text"] == text
    assert hit["record"]["payload"] == {"n": 5, "deep": [1.5, None, {"a": True}]}
    assert hit["record"]["status"] == "STATUS_ACTIVE"
    replay = client.call("ReceiptsService/Replay", {"receipt_id": found["receipt_id"]})
    assert replay["identical"] is True


def test_a_connection_outlives_many_calls_that_fail(client: Foreign) -> None:
    """What a failed call leaves behind, and nobody has collected yet, does not count as a call that is open."""
    gc.disable()
    try:
        codes = {refused(lambda: client.raw("RecordsService/Get", b"\xff"))[0] for _ in range(150)}
    finally:
        gc.enable()
    assert codes == {grpc.StatusCode.INVALID_ARGUMENT}


def test_what_is_not_sent_is_not_said(client: Foreign) -> None:
    """A default stays a default, an empty list can be meant, and what is required is asked for."""
    client.call("EpisodicService/StoreTurn", {"turn": {"conversation_id": "c", "content": "hi", "role": "ROLE_USER"}})
    (turn,) = client.call("EpisodicService/GetConversation", {"conversation_id": "c"})
    assert turn["role"] == "ROLE_USER"
    assert "index" not in turn and "token_count" not in turn  # 0, and nothing
    recipe = {"near_vectors": {}, "near_words": {"values": [0.5]}}
    assert client.call("RetrieverService/Recall", {"query": "hi", "recipe_value": recipe})["hits"]
    code, _, told = refused(lambda: client.call("EpisodicService/StoreTurn"))
    assert (code, told["memory-field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "turn")
    code, _, told = refused(lambda: client.call("UserService/SetPreference", {"domain": "d", "name": "n"}))
    assert (code, told["memory-field"]) == (grpc.StatusCode.INVALID_ARGUMENT, "value")
    assert client.call("UserService/SetPreference", {"domain": "d", "name": "n", "value": None}) is not None


def test_a_conversation_and_its_user_come_with_the_call(door: GrpcDoor) -> None:
    ada = Foreign(door.port, "ada", conversation="c1")
    bob = Foreign(door.port, "bob", conversation="c1")
    other = Foreign(door.port, "ada", conversation="c2")
    ada.call("WorkingService/Set", {"key": "colour", "value": "blau"})
    ada.call("RecordsService/Add", {"text": "a secret of ada"})
    assert ada.call("WorkingService/Get", {"key": "colour"}) == "blau"
    assert other.call("WorkingService/Get", {"key": "colour"}) is None
    assert len(other.call("RecordsService/Find")) == 1
    assert bob.call("RecordsService/Find") is None
    assert Foreign(door.port, "ada", tenant="elsewhere").call("RecordsService/Find") is None


def test_names_beyond_ascii_travel_as_bytes(door: GrpcDoor) -> None:
    client = Foreign(door.port, None)
    client.metadata = [("x-memory-user-bin", "Zoë".encode())]
    client.call("RecordsService/Add", {"text": "hers"})
    assert client.call("RecordsService/Find")[0]["scope"]["user"] == "Zoë"
    client.metadata = [("x-memory-user-bin", b"\xff")]
    assert refused(lambda: client.call("RecordsService/Find"))[0] is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("name", "said", "code", "field"),
    [
        ("RecordsService/Get", {"id": "nö"}, "NOT_FOUND", "id"),
        ("RecordsService/Find", {"limit": -1}, "INVALID_ARGUMENT", "limit"),
        ("RecordsService/Find", {"kind": "ünknown"}, "NOT_FOUND", "kind"),
        ("EpisodicService/StoreTurn", {"turn": {"conversation_id": "c"}}, "INVALID_ARGUMENT", "turn.role"),
        ("RecordsService/Amend", {"id": "x", "status": 77}, "INVALID_ARGUMENT", "status"),
        ("GoalsService/Add", {"goal": {"description": "d", "priority": 9}}, "INVALID_ARGUMENT", "goal.priority"),
        ("GoalsService/Add", {"goal": {"description": "d", "status": 9}}, "INVALID_ARGUMENT", "goal.status"),
    ],
)
def test_errors_name_code_field_and_fix(client: Foreign, name: str, said: Any, code: str, field: str) -> None:
    status, details, told = refused(lambda: client.call(name, said))
    assert status is grpc.StatusCode[code]
    assert (told["memory-code"], told["memory-field"]) == (
        "not_found" if code == "NOT_FOUND" else "invalid_input",
        field,
    )
    assert details and b"google.rpc.ErrorInfo" in told["grpc-status-details-bin"]


def test_what_is_no_message_is_the_callers_mistake(client: Foreign) -> None:
    deep = b""
    for _ in range(200):  # lists in lists, deeper than protobuf reads
        inner = b"\x0a" + _length(deep) + deep
        deep = b"\x32" + _length(inner) + inner
    value = b"\x1a" + _length(deep) + deep
    for body in (b"\xff\xff", b"\x0a\x02\xff\xff", value):
        assert refused(lambda body=body: client.raw("UserService/SetPreference", body))[0] in (
            grpc.StatusCode.INVALID_ARGUMENT,
        )
    code, _, _ = refused(lambda: client.call("RecordsService/Add", {"text": "x" * (MOST_BYTES + 1)}))
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert refused(lambda: client.raw("RecordsService/Nothing", b""))[0] is grpc.StatusCode.UNIMPLEMENTED


def _length(body: bytes) -> bytes:
    size, out = len(body), b""
    while size > 127:
        size, out = size >> 7, out + bytes([size & 127 | 128])
    return out + bytes([size])


def test_what_breaks_is_logged_and_not_shown(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    def broken(self: Records) -> str:
        raise RuntimeError("the secret of the server")

    with toy("broken", broken), start(service, port=0) as door:
        code, details, told = refused(lambda: Foreign(door.port).call("RecordsService/Broken"))
    assert (code, told["memory-code"]) == (grpc.StatusCode.INTERNAL, "error")
    assert "secret" not in details
    assert "secret" in caplog.text


def test_what_is_stored_through_python_is_told_exactly_or_as_text(service: Service, client: Foreign) -> None:
    deep: Any = "bottom"
    for _ in range(60):
        deep = {"down": deep}
    payload = {"large": 2**53 + 1, "whole": 7, "part": 0.1, "deep": deep, "empty": {}, "none": []}
    caller = service.identify(CallerClaim(user="ada"))
    id = service.call(TABLE["records.add"], caller, {"text": "numbers", "payload": payload}).id
    told = client.call("RecordsService/Get", {"id": id})["payload"]
    assert (told["large"], told["whole"], told["part"]) == (str(2**53 + 1), 7, 0.1)
    assert (told["empty"], told["none"]) == ({}, [])
    assert "bottom" in str(told["deep"])
