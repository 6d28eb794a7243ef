"""The ways to the MCP door: a process with standard streams, and HTTP. With the SDK's real client, old and new."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from starlette.testclient import TestClient
from talking import refused, told

from agent_memory import AgentMemory
from agent_memory.app.operations import Permission
from agent_memory.app.service import Service
from agent_memory.interfaces import serving
from patience import PATIENCE
from warm import PROGRAM

pytestmark = pytest.mark.usefixtures("warm")

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


async def an_exchange(client: Client) -> str:
    """A write, a read, a resource, a prompt and a mistake; gives the id."""
    id: str = told(await client.call_tool("add", {"text": "staging is on 5433"}))["result"]["id"]
    assert told(await client.call_tool("recall", {"query": "staging"}))["hits"][0]["id"] == id
    assert "5433" in (await client.read_resource(f"memory://records/{id}")).contents[0].text  # type: ignore[union-attr]
    assert (await client.get_prompt("recall_first", {"question": "staging"})).messages
    assert refused(await client.call_tool("get", {"id": "nope"}))["code"] == "not_found"
    assert "data" in (client.instructions or "")
    return id


@pytest.mark.requirement("E8")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_stdio_with_the_options_of_the_command_line(stdio: Any, tmp_path: Path, mode: str) -> None:
    store = tmp_path / "other.db"
    words = ["--user", "ada", "--tenant", "acme", "--agent", "coder", "--conversation", "c9", "--store", str(store)]
    id = stdio(an_exchange, *words, mode=mode)
    with AgentMemory("ada", tenant="acme", agent="coder", store=store) as memory:
        assert memory.records.get(id).scope.agent == "coder"
    with AgentMemory("bob", tenant="acme", store=store) as memory:
        assert memory.records.find() == []


@pytest.mark.parametrize("waits", ["pipe", "terminal"])
def test_ctrl_c_ends_it_while_it_waits_for_input(home: Path, waits: str) -> None:
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "mcp"]
    with subprocess.Popen(
        command,
        stdin=theirs if waits == "terminal" else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        try:
            said = json.dumps(HELLO).encode() + b"\n"
            os.write(ours if waits == "terminal" else child.stdin.fileno(), said)  # type: ignore[union-attr]
            assert child.stdout is not None and json.loads(child.stdout.readline())["id"] == 1
            child.send_signal(signal.SIGINT)
            assert child.wait(PATIENCE) == 130
            assert child.stderr is not None
            err = child.stderr.read().decode()
            assert "Traceback" not in err and ("started by an agent" in err) == (waits == "terminal")
        finally:
            child.kill()
            os.close(ours)
            os.close(theirs)


def test_a_conversation_has_its_desk(stdio: Any) -> None:
    async def think(client: Client) -> None:
        told(await client.call_tool("desk", {"action": "think", "thought": "look at the logs"}))

    async def thoughts(client: Client) -> Any:
        return told(await client.call_tool("desk", {"action": "show"}))["result"]["thoughts"]

    stdio(think, "--conversation", "c1", "--toolset", "working")
    assert stdio(thoughts, "--conversation", "c1", "--toolset", "working")[0]["thought"] == "look at the logs"
    assert stdio(thoughts, "--conversation", "c2", "--toolset", "working") == []


def speak(*lines: object, words: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Write these lines to a server, close its input, and wait for its end."""
    said = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    return subprocess.run([*PROGRAM, "mcp", *words], input=said, capture_output=True, text=True, timeout=PATIENCE)


def test_the_standard_output_carries_the_protocol_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_DEBUG", "1")
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get", "arguments": {"id": "nope"}}}
    noise = ["not JSON", "[]", '{"jsonrpc": "2.0", "id": 3}', '{"jsonrpc":"2.0","id":4,"method":"no/such"}', "\x00\xff"]
    lines = [HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}, *noise, call]
    said = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*PROGRAM, "mcp"], text=True, **pipes) as child:
        assert child.stdin and child.stdout
        child.stdin.write(said)
        child.stdin.flush()
        answers: list[dict[str, Any]] = []
        while not {one.get("id") for one in answers} >= {1, 2, 4}:  # what is asked is answered, if nobody hangs up
            answers.append(json.loads(child.stdout.readline()))
        rest, complaints = child.communicate(timeout=PATIENCE)
    assert (child.returncode, rest) == (0, "")
    assert all(one["jsonrpc"] == "2.0" for one in answers)
    assert "Traceback" not in complaints


def test_it_ends_when_the_input_does() -> None:
    ran = speak()
    assert (ran.returncode, ran.stdout) == (0, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--toolset", "nothing"), "there is no 'nothing'"),
        (("--compat", "--toolset", "core"), "leave out --toolset"),
        (("--store", "nowhere://x"), "no engine"),
        (("--user", "\x01"), "control character"),
    ],
)
def test_what_is_wrong_at_the_start_is_said_on_the_standard_error(words: tuple[str, ...], said: str) -> None:
    ran = speak(HELLO, words=words)
    assert ran.returncode != 0 and ran.stdout == "" and said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['mcp'] = sys.modules['mcp_types'] = None; "
    code = f"{hidden}from agent_memory.interfaces.cli import main; sys.exit(main(['mcp']))"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ}, timeout=PATIENCE
    )
    assert ran.returncode == 7 and ran.stdout == ""
    assert "pip install 'agent-memory[mcp]'" in ran.stderr


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_over_http_beside_rest(url: str, mode: str) -> None:
    async def session() -> None:
        for user in ("ada", "bob"):
            async with (
                httpx2.AsyncClient(headers={"x-memory-user": user}) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
            ):
                assert told(await client.call_tool("list", {}))["records"] == []
                await an_exchange(client)

    asyncio.run(session())
    assert httpx.get(f"{url}/v1/stats", headers={"x-memory-user": "ada"}, timeout=PATIENCE).json()["records"] == 1


def test_over_http_the_address_chooses_the_toolsets(url: str) -> None:
    async def listed(query: str) -> list[str]:
        async with Client(streamable_http_client(f"{url}/mcp{query}")) as client:
            if "working" in query:
                told(await client.call_tool("desk", {"action": "show"}))
            return [tool.name for tool in (await client.list_tools()).tools]

    assert len(asyncio.run(listed(""))) == 6
    assert {"recall", "desk"} < set(asyncio.run(listed("?toolsets=core,working")))
    several = set(asyncio.run(listed("?toolsets=working&toolsets=experience")))
    assert {"tools", "strategies", "reflect", "desk"} < several and not {"recall", "goals"} & several
    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(listed("?toolsets=nothing"))
    assert caught.group_contains(MCPError, match="there is no 'nothing'", depth=None)


def test_the_tools_of_the_official_server_are_at_an_address_of_their_own(home: Path) -> None:
    service = Service()
    app, found = serving.compose(service, serving.Listen(grpc_port=None))
    assert found["mcp"] == "/mcp"
    asked = {"accept": "application/json, text/event-stream"}
    with TestClient(app, "http://localhost", client=("127.0.0.1", 50000)) as http:

        def call(path: str, method: str, **params: Any) -> Any:
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return http.post(path, json=body, headers=asked).json()["result"]

        names = {path: {one["name"] for one in call(path, "tools/list")["tools"]} for path in ("/mcp", "/mcp/compat")}
        assert len(names["/mcp/compat"]) == 9 and "read_graph" in names["/mcp/compat"] - names["/mcp"]
        made = {"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]}
        call("/mcp/compat", "tools/call", name="create_entities", arguments=made)
        read = call("/mcp/compat", "tools/call", name="read_graph", arguments={})
        assert read["structuredContent"]["entities"] == made["entities"]
        hits = call("/mcp", "tools/call", name="recall", arguments={"query": "who likes tea?"})
        assert "likes tea" in str(hits), "one memory behind both"


def test_the_guard_stands_before_mcp_as_well(url: str) -> None:
    asked = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    assert httpx.post(f"{url}/mcp", json=HELLO, headers=asked, timeout=PATIENCE).status_code == 200
    for more, status in {
        ("host", "evil.example"): 421,
        ("origin", "https://evil.example"): 403,
        ("content-type", "text/plain"): 415,
    }.items():
        assert (
            httpx.post(f"{url}/mcp", json=HELLO, headers={**asked, more[0]: more[1]}, timeout=PATIENCE).status_code
            == status
        )


def test_where_there_are_keys_mcp_needs_one_too(url: str, memory: AgentMemory) -> None:
    secret = memory.keys.create("reader", permissions=[Permission.READ], for_user="ada").secret
    memory.records.add("staging is on 5433")
    asked = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    refusal = httpx.post(f"{url}/mcp", json=HELLO, headers=asked, timeout=PATIENCE)
    assert (refusal.status_code, refusal.json()["code"]) == (401, "unauthenticated")

    async def session() -> None:
        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {secret}"}) as http,
            Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
        ):
            assert "add" not in [tool.name for tool in (await client.list_tools()).tools]
            assert len(told(await client.call_tool("recall", {"query": "staging"}))["hits"]) == 1
            assert refused(await client.call_tool("add", {"text": "x"}))["code"] == "denied"

    asyncio.run(session())


def test_bodies_that_are_no_messages(url: str) -> None:
    asked = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    for body in (b"", b"{", b"[]", b"null", b'{"jsonrpc":"2.0","id":1}', b"[" * 100_000, b'"\\ud800"'):
        answer = httpx.post(f"{url}/mcp", content=body, headers=asked, timeout=PATIENCE)
        assert 400 <= answer.status_code < 500, body[:20]
    assert httpx.post(f"{url}/mcp", content=b" " * (17 << 20), headers=asked, timeout=PATIENCE).status_code == 413
    assert httpx.get(f"{url}/healthz", timeout=PATIENCE).status_code == 200
