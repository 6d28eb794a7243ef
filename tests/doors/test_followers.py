"""Many who follow the journal cost the store one look, and a key has so many of them."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import httpx
import pytest
from foreign import PACKAGE, Foreign

from agent_memory import AgentMemory
from agent_memory.app import news
from agent_memory.app.news import JournalNews
from agent_memory.app.service import Service
from agent_memory.interfaces.grpc.server import start
from agent_memory.interfaces.rest.app import create_app
from agent_memory.interfaces.rest.streams import STREAMS_OF_A_KEY
from patience import FOREVER, PATIENCE, until


class Looks:
    """Counts the looks at a store, and waits for some."""

    def __init__(self, look: Callable[[str], int]) -> None:
        self._look = look
        self._looked = threading.Condition()
        self.count = 0

    def __call__(self, tenant: str) -> int:
        newest = self._look(tenant)
        with self._looked:
            self.count += 1
            self._looked.notify_all()
        return newest

    def wait(self, more: int) -> None:
        with self._looked:
            last = self.count + more
            assert self._looked.wait_for(lambda: self.count >= last, PATIENCE)

    def settled(self, count: Callable[[], int]) -> int:
        """What is counted once it stays the same from look to look: everybody has read what there is, and waits."""

        def stays() -> bool:
            before = count()
            self.wait(4)
            return count() == before

        until(stays, "somebody reads a journal that has nothing new")
        return count()


@pytest.fixture
def service(home: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setattr(news, "LONGEST_WAIT", FOREVER)
    made = Service()
    made.news = JournalNews(Looks(made.news._newest))
    yield made
    made.close()


@pytest.fixture
def url(service: Service, one_server: Any) -> Iterator[str]:
    one_server.app = create_app(service)
    yield one_server.url
    one_server.app.state.stopping.set()


def followed(stack: contextlib.ExitStack, url: str, **headers: str) -> Iterator[str]:
    """The lines of a stream that has begun, and is at the end of what there is."""
    while True:
        with contextlib.ExitStack() as one:
            asked = httpx.stream("GET", f"{url}/v1/journal/stream?after=0", headers=headers, timeout=PATIENCE)
            answer = one.enter_context(asked)
            if answer.status_code == 200:
                stack.push(one.pop_all())
                break  # otherwise the server has not noticed yet that another has ended
    lines = answer.iter_lines()
    assert any('"record_id":"first"' in line for line in lines)
    return lines


def calls(url: str) -> int:
    """How often somebody read the journal."""
    found = re.search(
        r'calls_total\{operation="records.journal",outcome="ok"\} (\d+)',
        httpx.get(f"{url}/metrics", timeout=PATIENCE).text,
    )
    return int(found[1]) if found else 0


@pytest.mark.requirement("P23")
def test_many_followers_cost_one_look(service: Service, url: str) -> None:
    looks: Any = service.news._newest
    with AgentMemory("default") as memory, contextlib.ExitStack() as stack:
        memory.records.add("x", id="first")
        streams = [followed(stack, url) for _ in range(STREAMS_OF_A_KEY)]
        before = looks.settled(lambda: calls(url))
        memory.records.add("y", id="second")
        for lines in streams:
            assert any('"record_id":"second"' in line for line in lines)
        assert calls(url) <= before + 3 * len(streams), "each reads what is new, and sees that there is no more"


@pytest.mark.requirement("P23")
def test_a_key_follows_so_many_times(service: Service, url: str) -> None:
    """Callers without a key count as one; one that ends makes room; another key has its own."""
    with AgentMemory("default") as memory:
        memory.records.add("x", id="first")
        with contextlib.ExitStack() as stack:
            held = [followed(stack, url) for _ in range(STREAMS_OF_A_KEY)]
            refused = httpx.get(f"{url}/v1/journal/stream", timeout=PATIENCE)
            assert refused.status_code == 429 and refused.json()["code"] == "too_many"
            assert int(refused.headers["retry-after"]) > 0
            assert httpx.get(f"{url}/v1/records", timeout=PATIENCE).status_code == 200, "other calls are none of these"
            key = memory.keys.create("another").secret
            held.append(followed(stack, url, authorization=f"Bearer {key}"))
        with contextlib.ExitStack() as stack:
            held = [followed(stack, url, authorization=f"Bearer {key}") for _ in range(STREAMS_OF_A_KEY)]


def test_who_follows_over_grpc_costs_no_more(service: Service) -> None:
    looks: Any = service.news._newest
    reads = []
    service.observe = lambda operation, *_: reads.append(operation.name)
    with AgentMemory("ada") as memory, start(service, port=0) as door:
        memory.records.add("x", id="first")
        clients = [Foreign(door.port) for _ in range(5)]
        streams = [client.stream("StreamService/Journal", timeout=FOREVER) for client in clients]
        for _, lines in streams:
            assert next(lines)["record_id"] == "first"
        looks.settled(lambda: len(reads))
        memory.records.add("y", id="second")
        for call, lines in streams:
            assert next(line for line in lines if line["record_id"] == "second")
            call.cancel()
        for client in clients:
            client.close()


@pytest.mark.requirement("P23")
def test_over_grpc_too_the_key_is_asked_for_first(service: Service) -> None:
    """A message that never comes is not waited for."""
    with AgentMemory("ada") as memory:
        memory.keys.create("somebody")
    with start(service, port=0) as door, grpc.insecure_channel(f"127.0.0.1:{door.port}") as channel:
        never = threading.Event()

        def nothing() -> Iterator[bytes]:
            never.wait(FOREVER)
            yield b""

        for name in ("RecordsService/Add", "StreamService/Import"):
            with pytest.raises(grpc.RpcError) as refused:
                channel.stream_unary(f"/{PACKAGE}.{name}")(nothing(), timeout=PATIENCE)
            assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
        never.set()
