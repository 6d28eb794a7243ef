"""What all calls together may hold, and who waits for whom. P23."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import AsyncIterator, Iterator

import grpc
import pytest
from foreign import PACKAGE, Foreign
from grpc_health.v1 import health_pb2, health_pb2_grpc
from halves import Halves

from agent_memory.app.service import Service
from agent_memory.interfaces.connections import most_connections
from agent_memory.interfaces.grpc import calls, door, guests
from agent_memory.interfaces.grpc.inbox import SMALL_BYTES, Inbox
from agent_memory.interfaces.grpc.server import start
from agent_memory.models.errors import TooMany
from patience import FOREVER, PATIENCE, until, until_then

pytestmark = pytest.mark.requirement("P23")

REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


class Sender:
    """A call whose message comes when it is told to."""

    def __init__(self, body: bytes = b"x") -> None:
        self.asked, self.sent, self.answered = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._body = body

    async def _messages(self) -> AsyncIterator[bytes]:
        self.asked.set()
        await self.sent.wait()
        yield self._body

    async def call(self, inbox: Inbox) -> int:
        async with inbox.message(self._messages()) as raw:
            await self.answered.wait()
            return len(raw)

    def go(self) -> None:
        self.sent.set()
        self.answered.set()


async def turns() -> None:
    """Until whoever can go on has gone on."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_large_messages_share_a_room_and_small_ones_need_none() -> None:
    async def told() -> None:
        large = 10 * SMALL_BYTES
        inbox = Inbox(held=2 * large)
        held = [Sender(b"x" * large) for _ in range(2)]
        running = [asyncio.ensure_future(one.call(inbox)) for one in held]
        for one in held:
            one.sent.set()
        await turns()
        third, small = Sender(b"x" * large), Sender(b"x" * SMALL_BYTES)
        third.go()
        small.go()
        with pytest.raises(TooMany, match="as many large requests") as refused:
            await third.call(inbox)
        assert refused.value.hint and refused.value.wait
        assert await small.call(inbox) == SMALL_BYTES
        held[0].answered.set()
        await running[0]
        again = Sender(b"x" * large)
        again.go()
        assert await again.call(inbox) == large, "what is answered leaves its place"
        held[1].answered.set()
        await running[1]

    asyncio.run(told())


def test_whoever_fails_leaves_the_place_too() -> None:
    async def told() -> None:
        large = 2 * SMALL_BYTES
        inbox = Inbox(held=large)
        for _ in range(3):
            sender = Sender(b"x" * large)
            sender.sent.set()
            task = asyncio.ensure_future(sender.call(inbox))
            await turns()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        sender = Sender()
        task = asyncio.ensure_future(sender.call(inbox))
        await turns()
        task.cancel()  # while it arrives
        await turns()
        last = Sender(b"x" * large)
        last.go()
        assert await last.call(inbox) == large

    asyncio.run(told())


def test_who_is_slow_makes_room_for_who_waits() -> None:
    async def told() -> None:
        inbox = Inbox(places=1, turn=0.01)
        slow, quick = Sender(), Sender()
        quick.go()
        arriving = asyncio.ensure_future(slow.call(inbox))
        await until_then(slow.asked.is_set)
        assert await quick.call(inbox) == 1
        with pytest.raises(TooMany, match="came slowly, and others waited") as refused:
            await arriving
        assert refused.value.hint and refused.value.wait

    asyncio.run(told())


def test_who_is_slow_has_time_as_long_as_nobody_waits() -> None:
    async def told() -> None:
        inbox = Inbox(places=1, turn=0.001)
        slow = Sender()
        arriving = asyncio.ensure_future(slow.call(inbox))
        await until_then(slow.asked.is_set)
        await asyncio.sleep(0.1)
        slow.go()
        assert await arriving == 1

    asyncio.run(told())


@pytest.mark.parametrize("path", [f"/{PACKAGE}.RecordsService/Add", "/grpc.health.v1.Health/Check", REFLECTION])
def test_few_messages_arrive_at_a_time(path: str, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has no place can send no more than a window, on whichever connection; so many halves of messages take
    as much memory as few."""
    monkeypatch.setattr(calls, "Inbox", lambda: Inbox(places=2, turn=FOREVER))
    monkeypatch.setattr(guests, "PLACES", 2)
    monkeypatch.setattr(guests, "TURN_SECONDS", FOREVER)
    length = 20 * SMALL_BYTES
    with start(service, port=0) as door, Halves(door.port) as one, Halves(door.port) as other:
        for connection in (one, other):
            for _ in range(5):
                connection.begin(path, length)
        until(lambda: _taken((one, other)).count(length + 4) >= 2)
        for connection in (one, other):
            connection.go_on(quiet=0.5)
        taken = sorted(_taken((one, other)))
        assert taken[-2:] == [length + 4] * 2 and not one.ended | other.ended
        assert all(sent <= SMALL_BYTES for sent in taken[:-2])


def _taken(connections: tuple[Halves, ...]) -> list[int]:
    for connection in connections:
        connection.go_on(quiet=0.05)
    return [sent for connection in connections for sent in connection.sent.values()]


def test_strangers_are_answered_though_others_are_slow(service: Service) -> None:
    """A health check gets its turn, and what is too long for one is refused."""
    with start(service, port=0) as door, Halves(door.port) as slow:
        for _ in range(2 * guests.PLACES):
            slow.begin("/grpc.health.v1.Health/Check", 4 * SMALL_BYTES)
        slow.go_on(quiet=0.05)
        with grpc.insecure_channel(f"127.0.0.1:{door.port}") as channel:
            check = health_pb2_grpc.HealthStub(channel).Check
            assert check(health_pb2.HealthCheckRequest(), timeout=PATIENCE).status == 1
            with pytest.raises(grpc.RpcError, match="is longer than"):
                check(health_pb2.HealthCheckRequest(service="x" * 2 * SMALL_BYTES), timeout=PATIENCE)
            with pytest.raises(grpc.RpcError) as unknown:
                check(health_pb2.HealthCheckRequest(service="nothing"), timeout=PATIENCE)
        assert unknown.value.code() is grpc.StatusCode.NOT_FOUND


def test_connections_are_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "grpc.max_allowed_incoming_connections"
    assert dict(door.OPTIONS)[name] == most_connections(door.SHARE)
    monkeypatch.setattr(door, "OPTIONS", tuple({**dict(door.OPTIONS), name: 3}.items()))
    with start(service, port=0) as running:
        held = [Halves(running.port) for _ in range(3)]
        for one in held:
            until(one.heard)
        with Halves(running.port) as refused:
            until(lambda: not refused.heard())
        for one in held:
            one.close()

        def answered() -> bool:
            with Halves(running.port) as again:
                return again.heard()

        until(answered)


def test_messages_are_read_beside_the_event_loop(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sends much to read holds up nobody: of a call, of a stream, and of an import."""
    threads: list[str] = []
    read = calls._Route._read

    def seen(self: calls._Route, raw: bytes) -> dict[str, object]:
        threads.append(threading.current_thread().name)
        return read(self, raw)

    monkeypatch.setattr(calls._Route, "_read", seen)
    with start(service, port=0) as door:
        client = Foreign(door.port)
        client.call("RecordsService/Add", {"text": "one"})
        client.send("StreamService/Import", [{"text": "two"}])
        for stream, said in (("Export", {}), ("Journal", {"follow": False})):
            list(client.stream(f"StreamService/{stream}", said)[1])
        client.close()
    assert len(threads) == 4 and all(re.fullmatch(r"agent-memory-grpc_\d+", name) for name in threads), threads


def test_over_the_wire_it_is_resource_exhausted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call holds the room while its operation works; a large one beside it is told to come again."""
    monkeypatch.setattr(calls, "Inbox", lambda: Inbox(held=4 * SMALL_BYTES))
    working, go_on = threading.Event(), threading.Event()
    call = service.call

    def slow(*given: object) -> object:
        working.set()
        assert go_on.wait(PATIENCE)
        return call(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(service, "call", slow)
    with start(service, port=0) as door:
        client, text = Foreign(door.port), "x" * (3 * SMALL_BYTES)
        request = client.request("RecordsService/Add", {"text": text}).SerializeToString()
        adding = client.channel.unary_unary(f"/{PACKAGE}.RecordsService/Add")
        first = adding.future(request, metadata=client.metadata, timeout=FOREVER)
        assert working.wait(PATIENCE)
        with pytest.raises(grpc.RpcError) as refused:
            client.call("RecordsService/Add", {"text": text})
        go_on.set()
        told = dict(refused.value.trailing_metadata())
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert told["memory-code"] == "too_many" and told["grpc-retry-pushback-ms"]
        assert first.result(PATIENCE)
        client.close()


def test_an_import_is_written_as_it_comes(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large records do not wait until there are many of them."""
    monkeypatch.setattr(calls, "HELD_OF_IMPORT", 1000)
    pages: list[int] = []
    take = calls._Route._take
    monkeypatch.setattr(
        calls._Route, "_take", lambda self, taken, page: (pages.append(len(page)), take(self, taken, page))[1]
    )

    def records() -> Iterator[dict[str, str]]:
        for number in range(6):
            yield {"text": f"{number}" * 600}

    with start(service, port=0) as door:
        client = Foreign(door.port)
        assert int(client.send("StreamService/Import", records())["created"]) == 6
        client.close()
    assert pages == [2, 2, 2, 0]
