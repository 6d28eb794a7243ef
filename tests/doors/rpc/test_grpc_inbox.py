"""What all calls together may hold, and who waits for whom. P23."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import grpc
import pytest
from foreign import PACKAGE, Foreign

from agent_memory.app.service import Service
from agent_memory.interfaces.grpc import calls
from agent_memory.interfaces.grpc.inbox import SMALL_BYTES, Inbox
from agent_memory.interfaces.grpc.server import start
from agent_memory.models.errors import TooMany
from patience import FOREVER, PATIENCE

pytestmark = pytest.mark.requirement("P23")


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
