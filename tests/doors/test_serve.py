"""The server as a process: where it says it is, what it refuses, and that nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from served import Server, serving

from agent_memory import AgentMemory
from agent_memory.interfaces.rest.heads import HEAD_SECONDS
from patience import PATIENCE, until

pytestmark = pytest.mark.usefixtures("warm")


@pytest.fixture
def server(home: Path) -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.mark.requirement("E8")
def test_one_line_says_where_everything_is(server: Server) -> None:
    assert f"REST http://{server.at}/v1" in server.said and f"docs http://{server.at}/docs" in server.said
    assert "connect an agent" in server.said and server.said.count("\n") == 1
    assert server.ask("GET", "/healthz")[0] == server.ask("GET", "/readyz")[0] == server.ask("GET", "/docs")[0] == 200
    status, _, stored = server.ask("POST", "/memory/store", {"context": "Staging is on 5433", "importance": 0.5})
    assert status == 201
    status, _, found = server.ask("GET", "/memory/retrieve?q=staging&k=5")
    assert found[0]["metadata"]["id"] == stored["id"]
    assert server.ask("GET", "/memory/stats")[2]["records"] == 1
    assert "agent_memory_writes_total 1.0" in server.ask("GET", "/metrics")[2]


def test_mcp_is_loaded_when_it_is_first_asked_for(home: Path) -> None:
    code = """
import sys
from fastapi.testclient import TestClient
from agent_memory.app.service import Service
from agent_memory.interfaces.serving import Listen, compose
app, found = compose(Service(), Listen(grpc_port=None, jobs=False))
hello = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
near = {"client": ("127.0.0.1", 50000), "headers": {"accept": "application/json, text/event-stream"}}
with TestClient(app, "http://127.0.0.1", **near) as client:
    assert found["mcp"] == "/mcp"
    assert client.get("/v1/stats").status_code == 200
    assert "mcp" not in sys.modules
    for path in ("/mcp", "/mcp", "/mcp/compat"):
        answer = client.post(path, json=hello)
        assert answer.status_code == 200 and answer.json()["result"]["tools"], answer.text
    assert "mcp" in sys.modules
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr


def test_where_it_is_can_be_connected_to(home: Path) -> None:
    with AgentMemory("ada") as memory:
        secret = memory.keys.create("agent", ["read"]).secret
    for named in ([], ["--allow-host", "memory.example"]):
        with serving("--host", "0.0.0.0", *named) as running:
            assert "0.0.0.0" not in running.said and f"http://{named[-1] if named else 'localhost'}:" in running.said
            running.host = "127.0.0.1"
            assert running.ask("GET", "/v1/stats", authorization=f"Bearer {secret}")[0] == 200


@pytest.mark.parametrize("id", ["..", "%2F", "a/../b", "50%25", "a/history"])
def test_ids_of_every_kind_on_the_wire(server: Server, id: str) -> None:
    assert server.ask("POST", "/v1/records", {"text": "found", "id": id})[0] == 200
    if id.endswith("/history"):  # the path of another resource: by name, then
        assert server.ask("POST", "/v1/call/records.get", {"id": id})[2]["id"] == id
    else:
        assert server.ask("GET", f"/v1/records/{quote(id, safe='')}")[2]["id"] == id


def test_it_stays_on_this_machine_without_keys(process: Any) -> None:
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        ran = process("serve", "--host", host, "--port", "0")
        assert ran.code == 2 and "no key is asked for" in ran.err and "127.0.0.1" in ran.err and not ran.out


def test_with_a_key_it_can_be_reached_from_elsewhere(home: Path) -> None:
    with AgentMemory("default") as memory:
        made = memory.keys.create("for the team")
    with serving("--host", "0.0.0.0", "--no-grpc") as server:
        server.host = "0.0.0.0"
        assert server.ask("GET", "/healthz")[0] == 421, "nobody said what it is called"
        local = {"host": "localhost"}
        assert server.ask("GET", "/v1/stats", **local)[2]["code"] == "unauthenticated"
        assert server.ask("GET", "/v1/stats", authorization=f"Bearer {made.secret}", **local)[0] == 200


def test_a_port_that_is_taken_is_named(process: Any, server: Server) -> None:
    ran = process("serve", "--port", str(server.port))
    assert ran.code == 2 and ran.err.splitlines() == [
        f"error: port: cannot listen on 127.0.0.1:{server.port}: Address already in use",
        "hint: another server may run there: name another --port",
    ]
    ran = process("serve", "--port", "0", "--grpc-port", str(server.port))
    assert ran.code == 2 and ran.err.splitlines() == [
        f"error: port: cannot listen on 127.0.0.1:{server.port}: Address already in use",
        "hint: another server may run there: name another --grpc-port",
    ]


def test_it_is_called_by_other_names_when_told(home: Path) -> None:
    with serving("--allow-host", "memory.example") as server:
        for host, status in (("memory.example", 200), ("MEMORY.example:80", 200), ("evil.example", 421)):
            assert server.ask("GET", "/healthz", host=host)[0] == status


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_nothing_acknowledged_is_lost(home: Path, stop: signal.Signals) -> None:
    """Eight threads write while the server is told to stop; requests in flight are answered, receipts are kept."""
    acknowledged: list[str] = []
    broken: list[int] = []

    def write(thread: int) -> None:
        with contextlib.closing(http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)) as connection:
            write_all(connection, thread)

    def write_all(connection: http.client.HTTPConnection, thread: int) -> None:
        for number in range(100_000):
            id = f"t{thread}-{number}"
            try:
                body = json.dumps({"text": f"thread {thread} wrote {number}", "id": id})
                connection.request("POST", "/v1/records", body, {"content-type": "application/json"})
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                return  # it listens no more
            (acknowledged if answer.status == 200 else broken).append(id)

    with serving() as server:
        server.ask("POST", "/v1/records", {"text": "what a recall finds"})
        receipt = server.ask("POST", "/v1/recall", {"query": "what does a recall find?"})[2]["receipt_id"]
        threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        until(lambda: len(acknowledged) >= 40)
        server.process.send_signal(stop)
        assert server.process.wait(PATIENCE) == 0
        for thread in threads:
            thread.join(PATIENCE)
    assert not broken and len(acknowledged) >= 40
    with AgentMemory("default") as memory:
        stored = {record.id for record in memory.records.find(limit=10_000)}
        assert set(acknowledged) <= stored
        assert memory.receipts.get(receipt)["query"] == "what does a recall find?"
        assert memory.upkeep.verify().ok


def test_the_journal_is_followed_and_taken_up_again(server: Server) -> None:
    server.ask("POST", "/v1/records", {"text": "before", "id": "before"})

    def events(count: int, path: str, **headers: str) -> list[tuple[str, Any]]:
        connection = http.client.HTTPConnection(server.host, server.port, timeout=PATIENCE)
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        assert answer.headers["content-type"].startswith("text/event-stream")
        found: list[tuple[str, Any]] = []
        ready.set()
        id = ""
        while len(found) < count:
            line = answer.readline().decode().rstrip("\n")
            if line.startswith("id: "):
                id = line[4:]
            if line.startswith("data: "):
                found.append((id, json.loads(line[6:])))
        connection.close()
        return found

    seen: list[tuple[str, Any]] = []
    ready = threading.Event()
    following = threading.Thread(target=lambda: seen.extend(events(2, "/v1/journal/stream")))
    following.start()
    assert ready.wait(PATIENCE)
    with AgentMemory("default") as memory:  # another process, as far as the server knows
        memory.records.add("one", id="one")
    server.ask("POST", "/v1/records", {"text": "two", "id": "two"})
    following.join(PATIENCE)
    assert [line["record_id"] for _, line in seen] == ["one", "two"]
    assert [id for id, _ in seen] == [str(line["seq"]) for _, line in seen]
    again = events(1, "/v1/journal/stream", **{"Last-Event-ID": seen[0][0]})
    assert [line["record_id"] for _, line in again] == ["two"]
    assert events(3, "/v1/journal/stream?after=0")[-1][1]["record_id"] == "two"
    assert server.ask("GET", "/v1/journal/stream", **{"Last-Event-ID": "x"})[0] == 422


def test_a_stream_does_not_hold_it_up(home: Path) -> None:
    with serving() as server:
        wire = socket.create_connection((server.host, server.port), timeout=PATIENCE)
        wire.sendall(f"GET /v1/journal/stream HTTP/1.1\r\nHost: {server.at}\r\n\r\n".encode())
        seen = wire.recv(65536)
        assert b"200 OK" in seen
        server.process.terminate()
        while data := wire.recv(65536):
            seen += data
        assert seen.endswith(b"0\r\n\r\n"), "it came to its end, and was not cut off when the time was over"
        assert server.process.wait(PATIENCE) == 0
        wire.close()


def test_the_examples_of_the_guide_run(server: Server, tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/rest.md").read_text("utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", guide, re.S | re.M)
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    script = "\n".join(["set -eu", *blocks]).replace("localhost:8005", server.at)
    script = re.sub(r"(?m)^(curl.*?[^\\])$", r"\1; echo", script, flags=re.S)
    ran = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    for said in (
        '"content":"The staging database moved to port 5433"',
        '"jobs":{"catch_up"',
        '"text":"Deploys are frozen on Fridays"',
        'etag: "1"',
        '"code":"changed"',
        'rel="next"',
        '"unchanged":4,',
        '"field":"importnace"',
    ):
        assert said in ran.stdout, f"{said}\n{ran.stdout}"


# -- requests that no client should send


@pytest.mark.soak
def test_a_connection_that_says_nothing_is_given_up(server: Server) -> None:
    with socket.create_connection((server.host, server.port), timeout=HEAD_SECONDS + 10) as wire:
        wire.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert wire.recv(10) == b""


def test_hostile_requests_hold_nobody_up(server: Server) -> None:
    head = f"POST /v1/records HTTP/1.1\r\nHost: {server.at}\r\nContent-Type: application/json\r\n".encode()
    idle = [socket.create_connection((server.host, server.port), timeout=PATIENCE) for _ in range(50)]
    with contextlib.ExitStack() as stack:
        for wire in idle:
            stack.enter_context(wire)
        _hostile(server, idle, head)


def _hostile(server: Server, idle: list[socket.socket], head: bytes) -> None:
    for number, wire in enumerate(idle):  # half a line, half a header, half a body
        wire.sendall((b"POST /v1/rec", head, head + b"Content-Length: 100\r\n\r\n{")[number % 3])
    half = server.raw(head + b'Content-Length: 100\r\n\r\n{"text": "ha', close=True)
    assert half == b"" or b" 400 " in half.split(b"\r\n")[0]
    assert b" 400 " in server.raw(b"NONSENSE\r\n\r\n").split(b"\r\n")[0]
    assert b" 400 " in server.raw(head + b"Content-Length: x\r\n\r\n", close=True).split(b"\r\n")[0]
    large = server.raw(head + b"Content-Length: 999999999999\r\n\r\n{")
    assert b" 413 " in large.split(b"\r\n")[0] and b"too_large" in large
    chunk = b"%x\r\n%s\r\n" % (2**20, b" " * 2**20)
    with socket.create_connection((server.host, server.port), timeout=PATIENCE) as wire:
        wire.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        try:
            for _ in range(20):
                wire.sendall(chunk)
        except OSError:
            pass  # it did not want to read more
        else:
            assert b" 413 " in wire.recv(65536).split(b"\r\n")[0]
    slow = server.raw(
        head + b"Content-Length: 13\r\nConnection: close\r\n\r\n", *[b'{"te', b'xt": ', b'"s"}'], pause=0.1
    )
    assert b" 200 " in slow.split(b"\r\n")[0]
    assert server.ask("GET", "/v1/stats")[2]["records"] == 1


# -- jobs


def _pending(server: Server) -> float:
    return float(re.search(r"^agent_memory_pending_vectors (\S+)", server.ask("GET", "/metrics")[2], re.M)[1])  # type: ignore[index]


def _jobs(server: Server) -> Any:
    return {one["name"]: one for one in server.ask("GET", "/v1/jobs")[2]}


@pytest.mark.requirement("C17")
def test_a_server_does_what_is_left_to_do(home: Path) -> None:
    with AgentMemory("default") as memory:
        memory.records.add_many([{"text": f"note {number}"} for number in range(30)])
    with serving("--no-jobs", "--no-grpc") as server:
        time.sleep(0.5)
        assert _pending(server) == 30 and "agent_memory_job_runs_total{" not in server.ask("GET", "/metrics")[2]
    with serving("--no-grpc") as one, serving("--no-grpc") as other:  # two on one store
        until(lambda: not _pending(one) and not _pending(other))
        until(lambda: _jobs(one)["retention"]["last_run"] and not _jobs(one)["retention"]["held_by"])
        told = one.ask("GET", "/metrics")[2] + other.ask("GET", "/metrics")[2]
        assert 'agent_memory_job_runs_total{job="catch_up"}' in told
        assert told.count('agent_memory_job_seconds_count{job="retention"} 1.0') == 1, "they share it"
        assert "agent_memory_job_failures_total{" not in told and one.ask("GET", "/readyz")[0] == 200
    with AgentMemory("default") as memory:
        assert memory.upkeep.verify().ok and memory.upkeep.stats()["vectors"] == 30


def test_jobs_do_not_hold_up_the_end(home: Path) -> None:
    with AgentMemory("default") as memory:
        memory.records.add_many([{"text": f"note {number} " + "word " * 200} for number in range(2000)])
    with serving("--no-grpc") as server:
        until(lambda: _pending(server) < 2000)
        server.process.terminate()
        assert server.process.wait(PATIENCE) == 0
    with AgentMemory("default") as memory:
        assert memory.upkeep.verify().ok and 0 < memory.upkeep.stats()["pending_vectors"] < 2000
