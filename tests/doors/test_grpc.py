"""The gRPC door, asked by a client that has only an address: everything else it learns by reflection."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import pytest
from foreign import PACKAGE, Foreign
from grpc_health.v1 import health_pb2, health_pb2_grpc

from agent_memory.app.namespaces import Records
from agent_memory.app.operations import TABLE, operation
from agent_memory.app.service import Claim, Service
from agent_memory.interfaces.grpc import calls
from agent_memory.interfaces.grpc import door as doors
from agent_memory.interfaces.grpc.calls import MOST_STREAMS
from agent_memory.interfaces.grpc.door import MOST_BYTES, Door
from agent_memory.interfaces.grpc.schema import schema
from agent_memory.interfaces.grpc.server import start
from agent_memory.models.errors import InvalidInput

WRONG = {
    grpc.StatusCode.INTERNAL,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.UNIMPLEMENTED,
    grpc.StatusCode.UNAUTHENTICATED,
}


@pytest.fixture
def service(home: object) -> Iterator[Service]:
    opened = Service()
    yield opened
    opened.close()


@pytest.fixture
def door(service: Service) -> Iterator[Door]:
    with start(service, port=0) as running:
        yield running


@pytest.fixture
def client(door: Door) -> Iterator[Foreign]:
    made = Foreign(door.port)
    yield made
    made.close()


@contextmanager
def toy(name: str, function: Callable[..., Any]) -> Iterator[None]:
    """An operation that is declared, and nothing else."""
    setattr(Records, name, operation(f"records.{name}", f"POST /toys/{name}")(function))
    try:
        yield
    finally:
        delattr(Records, name)
        del TABLE[f"records.{name}"]


def refused(call: Callable[[], Any]) -> tuple[grpc.StatusCode, str, dict[str, Any]]:
    with pytest.raises(grpc.RpcError) as raised:
        call()
    return raised.value.code(), raised.value.details(), dict(raised.value.trailing_metadata() or ())


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


def test_a_conversation_and_its_user_come_with_the_call(door: Door) -> None:
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


def test_names_beyond_ascii_travel_as_bytes(door: Door) -> None:
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
    caller = service.identify(Claim(user="ada"))
    id = service.call(TABLE["records.add"], caller, {"text": "numbers", "payload": payload}).id
    told = client.call("RecordsService/Get", {"id": id})["payload"]
    assert (told["large"], told["whole"], told["part"]) == (str(2**53 + 1), 7, 0.1)
    assert (told["empty"], told["none"]) == ({}, [])
    assert "bottom" in str(told["deep"])


@pytest.mark.requirement("T8")
def test_much_goes_in_and_comes_out(client: Foreign) -> None:
    texts = [f"line {number}" for number in range(1201)]
    done = client.send("StreamService/Import", ({"text": text, "key": text, "kind": "observation"} for text in texts))
    assert (done["received"], done["created"]) == ("1201", "1201")
    again = client.send("StreamService/Import", ({"text": text, "key": text} for text in texts[:3]))
    assert (again["received"], again["unchanged"]) == ("3", "3")
    _, records = client.stream("StreamService/Export")
    assert [one["text"] for one in records] == texts
    _, lines = client.stream("StreamService/Journal", {"follow": False, "after": 1})
    assert len(list(lines)) == 1201


def test_what_comes_out_goes_into_another_store(door: Door, client: Foreign) -> None:
    made = {"text": "tea at five", "kind": "preference", "payload": {"domain": "d", "name": "n", "value": [1, None]}}
    client.call("RecordsService/Add", {**made, "valid_from": "2026-01-01T00:00:00Z", "importance": 0.7})
    client.call("RecordsService/Add", {"text": "put away", "status": "STATUS_ARCHIVED"})
    taken = {one.name for one in client.method("StreamService/Import").input_type.fields}
    out = [{name: one[name] for name in one if name in taken} for one in client.stream("StreamService/Export")[1]]
    elsewhere = Foreign(door.port, tenant="elsewhere")
    assert elsewhere.send("StreamService/Import", out)["created"] == "2"
    again = [{name: one[name] for name in one if name in taken} for one in elsewhere.stream("StreamService/Export")[1]]
    assert again == out


def test_an_import_that_is_refused_says_what_is_kept(client: Foreign) -> None:
    def records() -> Iterator[dict[str, Any]]:
        yield from ({"text": f"line {number}"} for number in range(600))
        yield {"text": "bad", "importance": 7}

    code, _, told = refused(lambda: client.send("StreamService/Import", records()))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "first 600 records are stored" in told["memory-hint"]
    assert len(client.call("RecordsService/Find", {"limit": 1000})) == 600


@pytest.mark.requirement("T8")
def test_the_journal_is_followed_until_the_caller_hangs_up(client: Foreign) -> None:
    call, lines = client.stream("StreamService/Journal")
    for text in ("first", "second"):
        id = client.call("RecordsService/Add", {"text": text})["id"]
        while next(lines).get("record_id") != id:
            pass
    call.cancel()
    for _ in range(2 * MOST_STREAMS):  # whoever hangs up leaves room
        call, lines = client.stream("StreamService/Journal")
        next(lines)
        call.cancel()
        time.sleep(0.3)  # a follower looks up every 0.2 seconds


def test_streams_leave_room_for_others(client: Foreign) -> None:
    client.call("RecordsService/Add", {"text": "one"})
    open_ones = [client.stream("StreamService/Journal") for _ in range(MOST_STREAMS)]
    for _, lines in open_ones:
        next(lines)
    call, lines = client.stream("StreamService/Journal")
    code, _, told = refused(lambda: next(lines))
    assert (code, told["memory-code"]) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "too_many")
    assert len(client.call("RecordsService/Find")) == 1
    for call, _ in open_ones:
        call.cancel()

    def open_again() -> bool:
        call, lines = client.stream("StreamService/Journal")
        try:
            return bool(next(lines))
        except grpc.RpcError:
            return False
        finally:
            call.cancel()

    _until(open_again)


def test_whoever_sends_nothing_holds_nobody_up(client: Foreign) -> None:
    """Half of a call, a hundred times: begun, and never said."""
    client.call("RecordsService/Add", {"text": "one"})
    over = threading.Event()

    def nothing() -> Iterator[bytes]:
        over.wait(60)
        yield from ()

    paths = [f"/{PACKAGE}.RecordsService/Find", "/grpc.health.v1.Health/Check", f"/{PACKAGE}.StreamService/Export"]
    halves = [client.channel.stream_unary(path).future(nothing()) for path in paths for _ in range(30)]
    try:
        time.sleep(0.5)
        for _ in range(5):
            assert len(client.call("RecordsService/Find", timeout=5)) == 1
    finally:
        over.set()
        for half in halves:
            half.cancel()


def test_stopping_finishes_what_is_in_flight(service: Service) -> None:
    entered = threading.Event()

    def slow(self: Records, seconds: float) -> str:
        entered.set()
        time.sleep(seconds)
        return "done"

    with toy("slow", slow):
        door = start(service, port=0)
        client = Foreign(door.port)
        client.methods()
        assert refused(lambda: client.call("RecordsService/Slow", {"seconds": 0.5}, timeout=0.1))[0] is (
            grpc.StatusCode.DEADLINE_EXCEEDED
        )
        entered.clear()
        said: list[str] = []
        asking = threading.Thread(target=lambda: said.append(client.call("RecordsService/Slow", {"seconds": 0.5})))
        _, lines = client.stream("StreamService/Journal", {"after": 10**6})
        asking.start()
        assert entered.wait(10)
        begun = time.monotonic()
        door.stop(grace=30)
        took = time.monotonic() - begun
        asking.join()
        assert said == ["done"]
        assert refused(lambda: next(lines))[0] is grpc.StatusCode.UNAVAILABLE
        assert took < 10  # a follower does not hold it up
        assert not [one.name for one in threading.enumerate() if one.name.startswith("agent-memory-grpc")]
        assert refused(lambda: client.call("RecordsService/Slow", timeout=1))[0] is grpc.StatusCode.UNAVAILABLE
        client.close()


def test_a_call_that_waited_too_long_is_not_begun(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "WORKERS", 1)
    entered, leave = threading.Event(), threading.Event()
    begun: list[str] = []

    def slow(self: Records, words: str) -> None:
        begun.append(words)
        entered.set()
        leave.wait(20)

    with toy("slow", slow), start(service, port=0) as door:
        client = Foreign(door.port)
        client.methods()
        asking = threading.Thread(target=lambda: client.call("RecordsService/Slow", {"words": "first"}))
        asking.start()
        assert entered.wait(10)
        code, _, _ = refused(lambda: client.call("RecordsService/Slow", {"words": "second"}, timeout=0.3))
        assert code is grpc.StatusCode.DEADLINE_EXCEEDED
        time.sleep(0.3)  # until the server hears of it
        leave.set()
        asking.join()
        assert client.call("RecordsService/Find") is None  # the one thread is past both
        assert begun == ["first"]
        client.close()


@pytest.mark.requirement("P23")
def test_from_the_first_key_on_a_key_is_asked_for(service: Service, door: Door, client: Foreign) -> None:
    client.call("RecordsService/Add", {"text": "before"})
    reading = client.call("KeysService/Create", {"label": "reader", "permissions": ["PERMISSION_READ"]})
    code, _, told = refused(lambda: client.call("RecordsService/Find"))
    assert (code, told["memory-code"]) == (grpc.StatusCode.UNAUTHENTICATED, "unauthenticated")
    code, _, _ = refused(lambda: next(client.stream("StreamService/Export")[1]))
    assert code is grpc.StatusCode.UNAUTHENTICATED
    holder = Foreign(door.port, token=reading["secret"])
    assert len(holder.call("RecordsService/Find")) == 1
    assert len(list(holder.stream("StreamService/Export")[1])) == 1
    assert refused(lambda: holder.call("RecordsService/Add", {"text": "x"}))[0] is grpc.StatusCode.PERMISSION_DENIED
    assert refused(lambda: holder.send("StreamService/Import", [{"text": "x"}]))[0] is grpc.StatusCode.PERMISSION_DENIED
    code, _, _ = refused(lambda: Foreign(door.port, token="am_wrong").call("RecordsService/Find"))
    assert code is grpc.StatusCode.UNAUTHENTICATED
    assert health_pb2_grpc.HealthStub(client.channel).Check(health_pb2.HealthCheckRequest(), timeout=10)


@pytest.mark.requirement("P23")
def test_a_key_that_ends_ends_its_streams(
    service: Service, door: Door, client: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "RENEW_SECONDS", 0.1)
    owner = service.identify(Claim(user="ada"))
    client.call("RecordsService/Add", {"text": "a line to begin with"})
    key = service.call(TABLE["keys.create"], owner, {"label": "reader"})
    _, lines = Foreign(door.port, token=key.secret).stream("StreamService/Journal")
    assert next(lines)
    service.call(TABLE["keys.revoke"], owner, {"key_id": key.id})
    with pytest.raises(grpc.RpcError) as raised:
        list(lines)
    assert raised.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_health_is_told(door: Door) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{door.port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for name in ("", f"{PACKAGE}.RecordsService"):
            told = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
            assert told.status == health_pb2.HealthCheckResponse.SERVING


def test_where_it_listens_is_checked(service: Service, door: Door) -> None:
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
from agent_memory.app.service import Claim, Service
from agent_memory.interfaces.grpc.server import start
from agent_memory.models.errors import PartMissing
try:
    start(Service(), port=0)
except PartMissing as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "grpcio is not installed" in ran.stdout and "agent-memory[grpc]" in ran.stdout, ran.stderr


def _until(holds: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)
