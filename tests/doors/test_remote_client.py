"""`AgentMemory(store="http://…")`: the same names, answers and errors, through a real server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory import AgentMemory, AsyncAgentMemory
from agent_memory.app import headers
from agent_memory.app.namespaces import Upkeep
from agent_memory.app.operations import TABLE, Permission, operation
from agent_memory.models import Entity, Goal, Turn
from agent_memory.models.errors import (
    AgentMemoryError,
    Conflict,
    Denied,
    InvalidInput,
    NotFound,
    PartMissing,
    StoreError,
    TooMany,
    Unauthenticated,
)
from agent_memory.models.model import Moment
from agent_memory.models.record import Link, Status

Serving = Callable[..., AbstractContextManager[str]]
Pair = tuple[AgentMemory, AgentMemory]


@pytest.fixture
def pair(serving: Serving) -> Iterator[Pair]:
    """One store, reached both ways."""
    with serving() as url, AgentMemory("ada", "c1") as here, AgentMemory("ada", "c1", store=url) as there:
        yield here, there


def fill(memory: AgentMemory) -> dict[str, str]:
    memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content="the deploy of checkout failed"))
    ada = memory.upsert_entity(Entity(name="Ada", type="Person", aliases=["A."], properties={"since": 2024}))
    acme = memory.upsert_entity(Entity(name="Acme", type="Organization"))
    memory.semantic.create_relationship(ada.id, acme.id, "WORKS_FOR", {"weight": 0.9})
    memory.learn_fact("Ada leads the migration", entity_ids=[ada.id])
    goal = memory.add_goal(Goal(description="ship it", priority=5, deadline=datetime(2030, 1, 1, tzinfo=UTC)))
    memory.procedural.learn_strategy("read the log first", "a deploy failed", ["kubectl"])
    memory.record_tool_usage("kubectl", {"a": [1, 2.5, None]}, {"out": "ok"}, True, 12)
    memory.user.set_preference("git", "merge style", {"style": "rebase", "sign": True})
    memory.vectors.upsert("mine", "v1", [0.1, 0.2], {"a": 1})
    memory.set_working_context("branch", {"name": "fix", "n": 1.5})
    memory.working.push_thought("the cache looks stale")
    return {"entity": ada.id, "goal": goal.id}


def same(value: Any) -> Any:
    """Without what differs between two calls of the same."""
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    if isinstance(value, dict):
        passing = ("receipt_id", "milliseconds", "receipts", "bytes", "tokens")
        return {name: same(one) for name, one in value.items() if name not in passing}
    if isinstance(value, list):
        return [same(one) for one in value]
    return value


@pytest.mark.requirement("C1", "E8")
def test_reads_give_the_same_values_of_the_same_types(pair: Pair) -> None:
    here, there = pair
    ids = fill(there)
    receipt = here.recall("deploy").receipt_id
    vector = here.embedder.embed_single("checkout")
    reads: list[Callable[[AgentMemory], Any]] = [
        lambda m: m.recall("which deploy failed?", trace=True, k=3),
        lambda m: m.remember("deploy"),
        lambda m: m.assemble_context("fix the deploy", 300),
        lambda m: m.records.find(limit=100),
        lambda m: m.records.history(ids["goal"]),
        lambda m: m.records.links(ids["entity"]),
        lambda m: m.records.lookup("entity", "nobody"),
        lambda m: m.records.journal(),
        lambda m: m.episodic.get_conversation("c1"),
        lambda m: m.episodic.get_recent_turns(),
        lambda m: m.episodic.vector_search(vector),
        lambda m: m.semantic.get_entity_graph([ids["entity"]]),
        lambda m: m.semantic.get_entity(ids["entity"]),
        lambda m: m.semantic.vector_search_facts(vector),
        lambda m: m.goals.get(ids["goal"]),
        lambda m: m.get_active_goals(),
        lambda m: m.get_user_context(),
        lambda m: m.user.get_preference("git", "merge style"),
        lambda m: m.user.preferences(),
        lambda m: m.user.to_markdown(),
        lambda m: m.what_worked_for("a deploy failed"),
        lambda m: m.procedural.get_tool_stats(),
        lambda m: m.get_working_context(),
        lambda m: m.working.get("nothing"),
        lambda m: m.vectors.query("mine", [0.1, 0.2]),
        lambda m: m.embedder.embed(["one", "two"]),
        lambda m: m.receipts.get(receipt),
        lambda m: m.receipts.replay(receipt),
        lambda m: m.retriever.recipes(),
        lambda m: m.upkeep.verify(),
        lambda m: {**m.upkeep.stats(), "resident_bytes": 0},
    ]
    for number, read in enumerate(reads):
        mine, theirs = read(here), read(there)
        assert type(mine) is type(theirs), number
        if isinstance(mine, list) and mine:
            assert type(mine[0]) is type(theirs[0]), number
        assert same(mine) == same(theirs), number


def test_what_was_left_out_stays_left_out(pair: Pair) -> None:
    """A turn without a time of its own, told twice, is the same turn; the salience that nobody names stays."""
    here, there = pair
    first = there.store_turn(Turn(conversation_id="c1", index=0, role="user", content="hello"))
    time.sleep(0.002)
    there.store_turn(Turn(conversation_id="c1", index=0, role="user", content="hello"))
    assert len(here.records.history(first.id)) == 1
    entity = there.upsert_entity(Entity(name="Ada", type="Person", salience=0.9))
    assert there.upsert_entity(Entity(name="Ada", type="Person")).salience == 0.9
    mine = Turn(conversation_id="c1", index=1, role="user", content="ids are the caller's")
    assert there.store_turn(mine).id == mine.id and entity.id in {one.id for one in here.records.find("entity")}


@pytest.mark.requirement("E8")
def test_errors_are_the_same(pair: Pair) -> None:
    here, there = pair
    here.records.add("deploy started", idempotency_key="deploy-7")
    wrong: list[tuple[type[AgentMemoryError], Callable[[AgentMemory], Any]]] = [
        (NotFound, lambda m: m.records.get("nobody")),
        (NotFound, lambda m: m.records.forget(["nobody"])),
        (Conflict, lambda m: m.records.add("something else", idempotency_key="deploy-7")),
        (Denied, lambda m: m.episodic.get_recent_turns(user_id="eve")),
        (InvalidInput, lambda m: m.records.add(" ")),
        (InvalidInput, lambda m: m.records.add("x", importance=float("nan"))),
        (InvalidInput, lambda m: m.recall("x", recipe="ghost")),
        (InvalidInput, lambda m: m.recall("x", min_relevance=7)),
        (InvalidInput, lambda m: m.working.set("thoughts", 1)),
        (InvalidInput, lambda m: m.remember("x", weights={"colour": 1})),
        (InvalidInput, lambda m: m.records.add("x", colour="red")),  # type: ignore[call-arg]
    ]
    for kind, call in wrong:
        caught = []
        for memory in (here, there):
            with pytest.raises(kind) as error:
                call(memory)
            caught.append((type(error.value), error.value.message, error.value.hint, error.value.field))
        assert caught[0] == caught[1]


def test_a_new_operation_needs_no_line(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    def toy(
        self: Upkeep, link: Link, at: Moment, status: Status = Status.HELD, vector: list[float] | None = None
    ) -> dict[str, list[Link]]:
        """Turn a link round."""
        assert at.tzinfo is not None and status == Status.ARCHIVED and vector == [0.1, 1e-300]
        return {"links": [link.model_copy(update={"source_id": link.target_id, "target_id": link.source_id})]}

    monkeypatch.setattr(Upkeep, "toy", operation("upkeep.toy", "POST /toy")(toy), raising=False)
    try:
        link = Link(source_id="a", target_id="b", type="ABOUT", properties={"n": [1, None]})
        zone = datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(microseconds=1)
        made = [m.upkeep.toy(link, zone, Status.ARCHIVED, vector=[0.1, 1e-300]) for m in pair]  # type: ignore[attr-defined]
        assert made[0] == made[1] and isinstance(made[1]["links"][0], Link)
    finally:
        del TABLE["upkeep.toy"]
    with pytest.raises(PartMissing, match=r"has no upkeep.toy .*upgrade"):
        pair[1].upkeep.toy(link, zone)  # type: ignore[attr-defined]


def test_weights_travel_with_the_call(pair: Pair) -> None:
    here, there = pair
    fill(there)
    assert there.remember("deploy").relevant_turns
    for memory in pair:
        memory.retriever.weights["episodic"] = 0.0
        memory.retriever.weights["no such group"] = 3.0
    asks: list[Callable[[AgentMemory], Any]] = [
        lambda m: m.remember("deploy"),
        lambda m: m.retriever.remember("deploy"),
    ]
    for ask in asks:
        assert ask(there).relevant_turns == [] and ask(there).facts
        assert same(ask(there)) == same(ask(here))
    for memory in pair:
        memory.retriever.weights["semantic_facts"] = 0.0
    bundles = [memory.remember("deploy", weights={"episodic": 1.0}) for memory in pair]
    assert same(bundles[0]) == same(bundles[1]) and bundles[1].relevant_turns and not bundles[1].facts


def test_what_cannot_travel_is_refused_by_name(pair: Pair) -> None:
    with pytest.raises(InvalidInput, match="cannot travel") as caught:
        pair[1].assemble_context("anything", counter=len)
    assert caught.value.field == "counter" and "estimate" in caught.value.hint
    for name in ("embedder", "reranker", "clock"):
        with pytest.raises(InvalidInput) as caught:
            AgentMemory("ada", store="http://127.0.0.1:1", **{name: object()})  # type: ignore[arg-type]
        assert caught.value.field == name
    for address in (
        "http://",
        "http://a b/",
        "https://ada:secret@127.0.0.1",
        "http://127.0.0.1:99999",
        "http://h/?q=1",
    ):
        with pytest.raises(InvalidInput) as caught:
            AgentMemory("ada", store=address)
        assert caught.value.field == "store" and "secret" not in str(caught.value)


def test_closing_clears_the_desk_and_nothing_else(serving: Serving) -> None:
    with serving() as url:
        with AgentMemory("ada", "c1", store=url) as memory:
            kept = memory.records.add("stays").id
            memory.set_working_context("branch", "fix")
            door = AgentMemory("ada", "c1", store=url)
            door.close(clear=False)
            assert memory.working.get("branch") == "fix"
        memory.close()
        with pytest.raises(StoreError, match="closed"):
            memory.recall("x")
        with AgentMemory("ada", "c1", store=url) as again:
            assert again.working.get("branch") is None and again.records.get(kept).text == "stays"


def test_keys_open_what_they_may(pair: Pair, one_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = pair
    reading = there.keys.create("a reader", [Permission.READ])
    writing = here.keys.create("a writer", for_user="ada")
    with pytest.raises(Unauthenticated):
        there.records.find()
    with AgentMemory("ada", store=one_server.url, api_key=reading.secret) as memory:
        assert memory.records.find() == []
        with pytest.raises(Denied, match="needs the permission write"):
            memory.records.add("x")
    monkeypatch.setenv("AGENT_MEMORY_API_KEY", writing.secret)
    with AgentMemory("ada", store=one_server.url) as memory:
        assert memory.records.add("x").effect == "created"
    stranger = AgentMemory("eve", store=one_server.url)
    with pytest.raises(Denied, match="does not speak for 'eve'"):
        stranger.records.find()
    stranger.close(clear=False)
    there.close(clear=False)


@given(st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable()))
def test_any_name_fits_into_a_header(name: str) -> None:
    written = headers.written(user=name, conversation=None)
    (line,) = written.values()
    assert line.isascii() and line == line.strip() and "\n" not in line
    assert headers.read(written) == {"user": name, "tenant": None, "agent": None, "conversation": None}


def test_names_of_any_kind_are_whose_memory_it_is(serving: Serving) -> None:
    with serving() as url:
        for user in ("jürgen", " ada ", "100%25", "日本 🦄", "a/b:c@d"):
            scope = {"tenant": "größe", "agent": "naïve"}
            with AgentMemory(user, "gespräch 1", store=url, **scope) as there:  # type: ignore[arg-type]
                there.records.add(f"of {user}")
                there.set_working_context("x", 1)
                with AgentMemory(user, "gespräch 1", **scope) as here:  # type: ignore[arg-type]
                    assert [one.text for one in here.records.find()] == [f"of {user}"]
                    assert here.working.get("x") == 1
            with AgentMemory(user, store=url) as nobody:
                assert nobody.records.find() == []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_a_server_that_is_gone_is_said_to_be_gone() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    memory = AgentMemory("ada", store=url)
    started = time.monotonic()
    with pytest.raises(StoreError, match=rf"no server can be reached at {url}.*agent-memory serve"):
        memory.records.add("x")
    assert time.monotonic() - started < 5


class Answering(ThreadingHTTPServer):
    """Somebody else's server: it notes what it is asked, and answers as it was told."""

    daemon_threads = True

    def __init__(self, *answers: tuple[int, dict[str, str], bytes]) -> None:
        self.asked: list[tuple[str, dict[str, str], Any]] = []
        answering = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                answering.asked.append((self.path, dict(self.headers.items()), json.loads(body)))
                status, more, content = answers[min(len(answering.asked), len(answers)) - 1]
                self.send_response(status)
                for name, value in {**more, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *said: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()


def test_the_key_goes_along_and_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = json.dumps({"code": "unauthorized", "detail": "this key is unknown", "hint": "make one"}).encode()
    with Answering((200, {}, b"[]"), (200, {}, b"[]"), (401, {}, refused)) as server:
        given = AgentMemory("ada", store=server.url, api_key="am_secret")
        assert given.records.find() == []
        monkeypatch.setenv("AGENT_MEMORY_API_KEY", "am_secret")
        monkeypatch.setenv("AGENT_MEMORY_STORE", server.url)
        AgentMemory("ada").records.find()
        with pytest.raises(Denied, match="this key is unknown") as caught:
            given.records.find()
        assert "am_secret" not in f"{caught.value!r} {vars(given._client)!r}"
    for path, sent, body in server.asked:
        assert path == "/v1/call/records.find" and body == {}
        sent = {name.lower(): value for name, value in sent.items()}
        assert sent["authorization"] == "Bearer am_secret" and sent["x-memory-user"] == "ada"
        assert "x-memory-tenant" not in sent and "x-memory-conversation" not in sent  # the server decides


def test_somebody_else_who_answers_is_told_apart() -> None:
    strange = [
        (404, b"<html>", StoreError, "status 404 .*is it an agent-memory server"),
        (500, b"Internal Server Error", StoreError, "status 500 .*its log"),
        (200, b"<html>", StoreError, "cannot be read .*same on both sides"),
        (200, b'[{"from": "the future"}]', StoreError, "cannot be read"),
        (307, b"", StoreError, "status 307"),
        (418, b'{"code": "new", "detail": "no tea", "hint": "coffee"}', InvalidInput, r"no tea \(coffee\)"),
        (503, b'{"code": "newer", "detail": "not now"}', StoreError, "not now"),
        (507, b'{"code": "store_full", "detail": "no space"}', StoreError, "no space"),
    ]
    for status, body, kind, said in strange:
        with Answering((status, {"Location": "/elsewhere"}, body)) as server, pytest.raises(kind, match=said):
            AgentMemory("ada", store=server.url).records.find()
        assert len(server.asked) == 1


def test_a_busy_server_is_asked_again_when_it_wants() -> None:
    busy = json.dumps({"code": "too_many", "detail": "slow down"}).encode()
    with Answering((429, {"Retry-After": "0.05"}, busy), (200, {}, b"[]")) as server:
        assert AgentMemory("ada", store=server.url).records.find() == []
    with Answering((429, {"Retry-After": "3600"}, busy)) as server, pytest.raises(TooMany, match="slow down"):
        AgentMemory("ada", store=server.url).records.find()
    assert len(server.asked) == 1


@contextmanager
def losing(url: str, answers: int = 1) -> Iterator[str]:
    """A line whose first connections break before the answer: the server did as it was asked, and nobody hears it."""
    there = ("127.0.0.1", int(url.rpartition(":")[2]))
    broken: list[socket.socket] = []

    def carry(near: socket.socket) -> None:
        lost = len(broken) < answers
        if lost:
            broken.append(near)
        with near, socket.create_connection(there) as far:
            threading.Thread(target=pump, args=(near, far), daemon=True).start()
            pump(far, near, lost)

    def pump(source: socket.socket, target: socket.socket, lost: bool = False) -> None:
        with suppress(OSError):
            while (data := source.recv(1 << 20)) and not lost:
                target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    threading.Thread(target=carry, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    assert len(broken) == answers


@pytest.mark.requirement("E8")
def test_a_lost_answer_does_not_write_twice(pair: Pair, one_server: Any) -> None:
    here, _ = pair
    with losing(one_server.url) as url:
        assert AgentMemory("ada", store=url).records.add("once").effect == "created"
    with losing(one_server.url) as url:
        assert len(AgentMemory("ada", store=url).records.add_many([{"text": "one"}, {"text": "two"}])) == 2
    with losing(one_server.url) as url:
        assert len(AgentMemory("ada", store=url).records.find()) == 3  # a read is asked again
    assert [one.text for one in here.records.find(oldest_first=True)] == ["once", "one", "two"]
    with losing(one_server.url) as url, pytest.raises(StoreError, match="may or may not have been done"):
        AgentMemory("ada", store=url).goals.add(Goal(description="what has no such key is not repeated"))
    assert len(here.get_active_goals()) == 1


def test_a_server_that_says_nothing_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_TIMEOUT", "0.2")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        memory = AgentMemory("ada", store=f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(StoreError, match=r"no answer within 0.2 seconds"):
            memory.recall("x")


def test_threads_share_a_client(pair: Pair) -> None:
    here, there = pair

    def add(name: int) -> None:
        for number in range(10):
            there.records.add(f"{name} {number}")

    threads = [threading.Thread(target=add, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(here.records.find(limit=100)) == 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_is_safe(serving: Serving) -> None:
    code = """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)
from agent_memory import AgentMemory
memory = AgentMemory("ada", store=sys.argv[1])
memory.records.add("parent")
child = os.fork()
if not child:
    for number in range(20):
        memory.records.add(f"child {number}")
    memory.close()
    os._exit(0)
for number in range(20):
    memory.records.add(f"parent {number}")
assert os.waitpid(child, 0)[1] == 0
assert len(memory.records.find(limit=100)) == 41
"""
    with serving() as url:
        ran = subprocess.run([sys.executable, "-c", code, url], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr


def test_without_httpx_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["httpx"] = None
from agent_memory import AgentMemory
AgentMemory("ada", store="memory://").close()
AgentMemory("ada", store="http://127.0.0.1:1")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "PartMissing" in ran.stderr and "agent-memory[client]" in ran.stderr


def test_the_async_client_does_the_same(serving: Serving) -> None:
    async def story(url: str) -> None:
        async with AsyncAgentMemory("ada", "c1", store=url) as memory:
            await asyncio.gather(*(memory.records.add(f"note {number}") for number in range(12)))
            assert len(await memory.records.find()) == 12
            with pytest.raises(NotFound):
                await memory.records.get("nobody")

    with serving() as url:
        asyncio.run(story(url))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Operations that wait for an event: one reads, one writes."""
    go = threading.Event()

    def look(self: Upkeep) -> int:
        """Wait, and read."""
        go.wait(30)
        return 1

    def note(self: Upkeep, text: str) -> str:
        """Wait, and write."""
        go.wait(30)
        return (
            AgentMemory.within(
                self._client.runtime, self._client.settings, self._client.scope, self._client.clock, None
            )
            .records.add(text)
            .id
        )

    monkeypatch.setattr(Upkeep, "look", operation("upkeep.look", "GET /look")(look), raising=False)
    wrote = operation("upkeep.note", "POST /note", permission=Permission.WRITE)(note)
    monkeypatch.setattr(Upkeep, "note", wrote, raising=False)
    yield go
    go.set()
    del TABLE["upkeep.look"], TABLE["upkeep.note"]


def test_cancelled_reads_are_given_up_and_writes_finish(slow: threading.Event, serving: Serving) -> None:
    async def story(url: str) -> None:
        memory = AsyncAgentMemory("ada", store=url)
        sync, threads = memory._sync, memory._threads
        reading = [asyncio.create_task(threads.run(sync.upkeep.look)) for _ in range(6)]  # type: ignore[attr-defined]
        await asyncio.sleep(0.5)
        for task in reading:
            task.cancel()
        assert all(
            isinstance(one, asyncio.CancelledError) for one in await asyncio.gather(*reading, return_exceptions=True)
        )
        started = time.monotonic()
        assert await memory.records.find() == []  # its threads are free again, though nobody answered
        assert time.monotonic() - started < 5
        writing = asyncio.create_task(threads.run(lambda: sync.upkeep.note("kept")))  # type: ignore[attr-defined]
        await asyncio.sleep(0.3)
        writing.cancel()
        slow.set()
        for _ in range(100):
            if found := await memory.records.find():
                break
            await asyncio.sleep(0.05)
        assert [one.text for one in found] == ["kept"]
        await memory.close()

    with serving() as url:
        asyncio.run(story(url))


GUIDE = Path(__file__).parents[2] / "docs/guides/client.md"


@pytest.mark.parametrize("code", re.findall(r"^```py\n(.*?)^```", GUIDE.read_text("utf-8"), re.S | re.M))
def test_the_guide_runs(serving: Serving, code: str) -> None:
    with serving() as url:
        said = code.replace("http://127.0.0.1:8005", url)
        ran = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, timeout=60)
    assert url in said and ran.returncode == 0 and ran.stdout, ran.stderr


def test_the_command_line_speaks_to_a_server(serving: Serving, here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as url:
        at = ("--store", url, "--user", "ada")
        id = here(*at, "add", "the deploy failed", "--json").json["id"]
        assert "the deploy failed" in here(*at, "recall", "deploy").out
        monkeypatch.setenv("AGENT_MEMORY_STORE", url)
        assert id in here("--user", "ada", "list").out
        assert here("--user", "ada", "journal").out.count("put") == 1
        assert here("--user", "ada", "forget", id, "--yes", "--reason", "a mistake").code == 0
        gone = here("--user", "ada", "show", id)
        assert gone.code == 3 and "was forgotten on" in gone.err and "a mistake" in gone.err
        assert here("--user", "ada", "show", "nobody").code == 3
        remembered = here("--user", "ada", "remember", "deploy", "--weights", '{"episodic": 0}', "--json")
        assert remembered.code == 0 and remembered.json["relevant_turns"] == []
        told = here("doctor")
        assert told.code == 0 and "answers in" in told.out and "embedder" not in told.out
    monkeypatch.setenv("AGENT_MEMORY_STORE", f"http://127.0.0.1:{free_port()}")
    assert here("list").code == 6
    told = here("doctor")
    assert told.code == 1 and "no server can be reached" in told.out and "agent-memory serve" in told.out
