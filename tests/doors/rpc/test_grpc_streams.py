"""Streams over gRPC, and what happens to calls when somebody is slow, silent or stops."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from calling import refused, toy
from foreign import PACKAGE, Foreign

from agent_memory.app.namespaces import Records
from agent_memory.app.service import Service
from agent_memory.interfaces.grpc import door as doors
from agent_memory.interfaces.grpc.calls import MOST_STREAMS
from agent_memory.interfaces.grpc.door import GrpcDoor
from agent_memory.interfaces.grpc.server import start
from patience import FOREVER, PATIENCE, until


@pytest.mark.requirement("T8")
def test_much_goes_in_and_comes_out(client: Foreign) -> None:
    texts = [f"line {number}" for number in range(1201)]
    done = client.send("StreamService/Import", ({"text": text, "key": text, "kind": "observation"} for text in texts))
    assert (done["received"], done["created"]) == ("1201", "1201")
    again = client.send("StreamService/Import", ({"text": text, "key": text} for text in texts[:3]))
    assert (again["received"], again["unchanged"]) == ("3", "3")
    _, records = client.stream("StreamService/Export")
    assert [one["text"] for one in records] == texts
    _, lines = client.stream("StreamService/Journal", {"follow": False, "after": 0})
    assert len(list(lines)) == 1201


def test_what_comes_out_goes_into_another_store(door: GrpcDoor, client: Foreign) -> None:
    made = {"text": "tea at five", "kind": "preference", "payload": {"domain": "d", "name": "n", "value": [1, None]}}
    client.call("RecordsService/Add", {**made, "valid_from": "2026-01-01T00:00:00Z", "importance": 0.7})
    client.call("RecordsService/Add", {"text": "put away", "status": "STATUS_ARCHIVED"})
    taken = {one.name for one in client.method("StreamService/Import").input_type.fields}
    out = [{name: one[name] for name in one if name in taken} for one in client.stream("StreamService/Export")[1]]
    elsewhere = Foreign(door.port, tenant="elsewhere")
    assert elsewhere.send("StreamService/Import", out)["created"] == "3"  # with whose preference it is
    again = [{name: one[name] for name in one if name in taken} for one in elsewhere.stream("StreamService/Export")[1]]
    assert again == out


def test_an_import_brings_nothing_forgotten_back_unless_asked(client: Foreign) -> None:
    lines = [{"text": "the old passphrase", "id": "gone"}, {"text": "another", "id": "also gone"}]
    client.send("StreamService/Import", lines)
    client.call("RecordsService/Forget", {"ids": ["gone", "also gone"]})
    assert client.send("StreamService/Import", lines)["forgotten"] == "2"
    told = client.send("StreamService/Import", [{**lines[0], "restore_forgotten": True}, lines[1]])
    assert (told["created"], told["forgotten"]) == ("1", "1")


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
        until(lambda: follows(client))


def follows(client: Foreign) -> bool:
    """Whether there is room for one more, who hangs up at once."""
    call, lines = client.stream("StreamService/Journal")
    try:
        return bool(next(lines))
    except grpc.RpcError:
        return False
    finally:
        call.cancel()


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
    until(lambda: follows(client))


def test_whoever_sends_nothing_holds_nobody_up(client: Foreign) -> None:
    """Half of a call, a hundred times: begun, and never said."""
    client.call("RecordsService/Add", {"text": "one"})
    over = threading.Event()

    def nothing() -> Iterator[bytes]:
        over.wait(FOREVER)
        yield from ()

    paths = [f"/{PACKAGE}.RecordsService/Find", "/grpc.health.v1.Health/Check", f"/{PACKAGE}.StreamService/Export"]
    halves = [client.channel.stream_unary(path).future(nothing()) for path in paths for _ in range(30)]
    try:
        time.sleep(0.5)
        for _ in range(5):
            assert len(client.call("RecordsService/Find")) == 1
    finally:
        over.set()
        for half in halves:
            half.cancel()


def test_stopping_finishes_what_is_in_flight(service: Service) -> None:
    entered: list[str] = []

    def slow(self: Records, words: str) -> str:
        entered.append(words)
        time.sleep(0.5)
        return "done"

    with toy("slow", slow):
        door = start(service, port=0)
        client = Foreign(door.port)
        client.methods()
        assert refused(lambda: client.call("RecordsService/Slow", {"words": "first"}, timeout=0.1))[0] is (
            grpc.StatusCode.DEADLINE_EXCEEDED
        )
        said: list[str] = []
        asking = threading.Thread(target=lambda: said.append(client.call("RecordsService/Slow", {"words": "second"})))
        _, lines = client.stream("StreamService/Journal", {"after": 10**6})
        asking.start()
        until(lambda: "second" in entered)
        stopping = threading.Thread(target=lambda: door.stop(grace=FOREVER), daemon=True)
        stopping.start()
        stopping.join(PATIENCE)
        assert not stopping.is_alive(), "a follower holds it up"
        asking.join()
        assert said == ["done"]
        assert refused(lambda: next(lines))[0] is grpc.StatusCode.UNAVAILABLE
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
        leave.wait(PATIENCE)

    with toy("slow", slow), start(service, port=0) as door:
        client = Foreign(door.port)
        client.methods()
        asking = threading.Thread(target=lambda: client.call("RecordsService/Slow", {"words": "first"}))
        asking.start()
        assert entered.wait(PATIENCE)
        tasks = len(asyncio.all_tasks(door._loop))
        code, _, _ = refused(lambda: client.call("RecordsService/Slow", {"words": "second"}, timeout=0.3))
        assert code is grpc.StatusCode.DEADLINE_EXCEEDED
        until(lambda: len(asyncio.all_tasks(door._loop)) <= tasks)  # the server hears of it
        leave.set()
        asking.join()
        assert client.call("RecordsService/Find") is None  # the one thread is past both
        assert begun == ["first"]
        client.close()
