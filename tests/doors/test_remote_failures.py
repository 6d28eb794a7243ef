"""Servers that are gone, busy, silent or somebody else; answers that are lost on the way."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from ports import free_port

from agent_memory import AgentMemory
from agent_memory.app.wire import PAUSES
from agent_memory.models import Goal
from agent_memory.models.errors import (
    Denied,
    InvalidInput,
    StoreError,
    TooMany,
)

Serving = Callable[..., AbstractContextManager[str]]
Pair = tuple[AgentMemory, AgentMemory]


def test_a_server_that_is_gone_is_said_to_be_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("agent_memory.app.wire.time.sleep", pauses.append)
    url = f"http://127.0.0.1:{free_port()}"
    memory = AgentMemory("ada", store=url)
    with pytest.raises(StoreError, match=rf"no server can be reached at {url}.*agent-memory serve"):
        memory.records.add("x")
    assert tuple(pauses) == PAUSES


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
        (404, b'{"code": "no_such_path", "detail": "Not Found"}', StoreError, "leave out what follows, such as /v1"),
        (500, b"Internal Server Error", StoreError, "status 500 .*its log"),
        (200, b"<html>", StoreError, "cannot be read .*same version of agent-memory"),
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
