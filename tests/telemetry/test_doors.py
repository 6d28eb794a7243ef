"""A trace goes through every door: from the caller's span to the parts of an operation, and back in its errors. P16."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from opentelemetry import trace

from agent_memory import AgentMemory
from agent_memory.app import telemetry
from agent_memory.interfaces.grpc import descriptor
from agent_memory.interfaces.grpc.schema import schema
from agent_memory.models.errors import NotFound
from agent_memory.testing.otlp import Collector, OtlpSpan
from patience import PATIENCE

CLI = [sys.executable, "-m", "agent_memory.interfaces.cli"]
CANARY = "xyzzy-plover"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{SPAN}-01"
CALLER = trace.NonRecordingSpan(trace.SpanContext(int(TRACE, 16), int(SPAN, 16), True, trace.TraceFlags(1)))


class Server:
    """A running `agent-memory serve` that sends its traces to the collector."""

    def __init__(self, collector: Collector) -> None:
        self.process = subprocess.Popen(
            [*CLI, "serve", "--port", "0", "--grpc-port", "0", "--json"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **collector.environment, "OTEL_SERVICE_NAME": "memory-server"},
        )
        assert self.process.stdout is not None
        said = ""
        while not said.endswith("}\n"):
            said += self.process.stdout.readline()
        self.where: dict[str, str] = json.loads(said)
        self.url = self.where["rest"].removesuffix("/v1")

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self.url.partition("//")[2], timeout=PATIENCE)
        told = {**({"content-type": "application/json"} if body is not None else {}), **headers}
        connection.request(method, path, None if body is None else json.dumps(body), told)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, json.loads(text) if text.startswith(("{", "[")) else text

    def end(self) -> None:
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def server(home: Path, collector: Collector) -> Iterator[Server]:
    running = Server(collector)
    yield running
    if running.process.poll() is None:
        running.end()


def child(found: list[OtlpSpan], parent: OtlpSpan | str, name: str) -> OtlpSpan:
    id = parent if isinstance(parent, str) else parent.span_id
    (span,) = [span for span in found if span.name == name and span.parent_id == id]
    return span


@pytest.mark.requirement("P16")
def test_rest(server: Server, collector: Collector) -> None:
    server.ask("POST", "/v1/records", {"text": CANARY, "id": CANARY}, **{"x-memory-user": CANARY})
    headers = {"traceparent": TRACEPARENT, "x-memory-user": CANARY}
    assert server.ask("GET", f"/memory/retrieve?q={CANARY}", **headers)[0] == 200
    assert server.ask("GET", f"/v1/records/{quote(CANARY)}", **headers)[0] == 200
    status, missing = server.ask("GET", f"/v1/records/no-{CANARY}", **headers)
    assert status == 404 and missing["trace_id"] == TRACE
    status, nowhere = server.ask("GET", f"/{CANARY}/{CANARY}")
    assert status == 404 and nowhere["trace_id"] not in (None, TRACE)
    status, refused = server.ask("POST", "/v1/recall", {"query": "x", CANARY: 1}, traceparent="00-zz-zz-01")
    assert status == 422 and len(refused["trace_id"]) == 32
    assert server.ask("GET", "/healthz")[0] == server.ask("GET", "/metrics")[0] == 200
    connection = http.client.HTTPConnection(server.url.partition("//")[2], timeout=PATIENCE)
    connection.request("GET", "/v1/journal/stream?after=0", headers={"x-memory-user": CANARY})
    with connection.getresponse() as events:
        assert next(line for line in iter(events.readline, b"") if line.startswith(b"id:"))
    connection.close()
    server.end()
    found = collector.spans
    asked = child(found, SPAN, "GET /memory/retrieve")
    assert asked.trace_id == TRACE and asked.kind == 2 and asked.service == "memory-server"
    assert asked.attributes == {
        "http.request.method": "GET",
        "http.route": "/memory/retrieve",
        "http.response.status_code": 200,
    }
    assert child(found, child(found, asked, "recall"), "recall.gather")
    failed = [span for span in found if span.name == "records.get" and span.status == 2]
    assert [span.attributes for span in failed] == [{"error.type": "not_found"}]
    assert {span.trace_id for span in found} >= {TRACE, nowhere["trace_id"], refused["trace_id"]}
    assert not {span.name for span in found} & {"GET /healthz", "GET /metrics", "records.journal"}
    assert CANARY.encode() not in b"".join(collector.bodies)


@pytest.mark.requirement("P16")
def test_our_client_and_the_server_make_one_trace(server: Server, traced: Collector) -> None:
    with AgentMemory("ada", store=server.url) as memory:
        memory.records.add("The staging database moved to port 5433")
        memory.recall("which port?")
        (receipt,) = memory.receipts.find()
        with pytest.raises(NotFound) as error:
            memory.records.get("nothing")
    telemetry.end()
    server.end()
    found = traced.spans
    (here,) = [span for span in found if span.name == "recall" and span.service == "agent-memory"]
    assert here.kind == 3 and here.trace_id == receipt.trace_id
    there = child(found, here, "POST /v1/call/{operation}")
    assert child(found, there, "recall").service == there.service == "memory-server"
    assert error.value.trace_id in {span.trace_id for span in found if span.name == "records.get"}


@pytest.mark.requirement("P16")
def test_grpc(server: Server, collector: Collector) -> None:
    made = schema()
    pool = descriptor.pool_of(descriptor.file_of(made))
    methods = {one.operation.name: one for one in made.methods if one.operation}
    metadata = (("traceparent", TRACEPARENT),)
    with grpc.insecure_channel(server.where["grpc"]) as channel:

        def call(name: str, **said: Any) -> Any:
            method = methods[name]
            takes, gives = (descriptor.message_class(pool, one.name) for one in (method.request, method.response))
            ask = channel.unary_unary(method.path, takes.SerializeToString, gives.FromString)
            return ask(takes(**said), metadata=metadata, timeout=PATIENCE)

        call("records.add", text=CANARY)
        call("recall", query=CANARY)
        with pytest.raises(grpc.RpcError) as error:
            call("records.get", id=CANARY)
        exporting = next(one for one in made.methods if one.name == "Export")
        assert len(list(channel.unary_stream(exporting.path)(b"", metadata=metadata, timeout=PATIENCE))) == 1
        following = next(one for one in made.methods if one.name == "Journal")
        journal = channel.unary_stream(following.path)(b"", metadata=metadata, timeout=PATIENCE)
        assert next(journal)
        journal.cancel()
    assert dict(error.value.trailing_metadata())["memory-trace-id"] == TRACE
    server.end()
    found = collector.spans
    asked = child(found, SPAN, "agent_memory.v1.RetrieverService/Recall")
    assert asked.kind == 2 and asked.trace_id == TRACE and asked.attributes == {"rpc.system": "grpc"}
    assert child(found, child(found, asked, "recall"), "recall.fuse")
    pages = [span for span in found if span.name == exporting.path.removeprefix("/")]
    assert pages and {page.parent_id for page in pages} == {SPAN}
    assert "records.journal" not in {span.name for span in found}
    assert CANARY.encode() not in b"".join(collector.bodies)


@pytest.mark.requirement("P16")
def test_mcp_over_http(server: Server, collector: Collector) -> None:
    async def talk() -> Any:
        async with Client(server.where["mcp"]) as client:
            await client.call_tool("add", {"text": CANARY})
            with trace.use_span(CALLER):
                await client.call_tool("recall", {"query": CANARY})
                return await client.call_tool("get", {"id": "nothing"})

    refused = asyncio.run(talk())
    assert json.loads(refused.content[0].text)["error"]["trace_id"] == TRACE
    server.end()
    found = collector.spans
    assert child(found, child(found, SPAN, "recall"), "recall.gather").trace_id == TRACE
    added = next(span for span in found if span.name == "records.add")
    (request,) = [span for span in found if span.span_id == added.parent_id]
    assert request.kind == 2 and request.name == "POST /mcp"
    assert CANARY.encode() not in b"".join(collector.bodies)


@pytest.mark.requirement("P16")
def test_mcp_over_stdio(home: Path, collector: Collector) -> None:
    environment = {name: value for name, value in os.environ.items() if name.startswith(("AGENT_MEMORY", "PYTHON"))}
    program = StdioServerParameters(
        command=sys.executable,
        args=["-m", "agent_memory.interfaces.cli", "mcp"],
        env={**environment, **collector.environment},
    )

    async def talk() -> Any:
        async with Client(stdio_client(program)) as client:
            with trace.use_span(CALLER):
                await client.call_tool("recall", {"query": CANARY})
            await asyncio.to_thread(collector.wait_for, "recall")
            return await client.call_tool("get", {"id": "nothing"})

    refused = asyncio.run(talk())
    found = collector.wait_for("recall", "records.get")
    assert child(found, SPAN, "recall").trace_id == TRACE
    (failed,) = [span for span in found if span.name == "records.get"]
    assert json.loads(refused.content[0].text)["error"]["trace_id"] == failed.trace_id != TRACE
    assert CANARY.encode() not in b"".join(collector.bodies)


@pytest.mark.requirement("P16")
def test_the_command_line(home: Path, collector: Collector) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*CLI, *words], env={**os.environ, **environment}, capture_output=True, text=True)

    environment = {**collector.environment, "OTEL_EXPERIMENTAL_RESOURCE_DETECTORS": "process"}
    assert run("add", CANARY).returncode == run("recall", CANARY).returncode == 0
    (recall,) = [span for span in collector.spans if span.name == "recall"]
    (found,) = json.loads(run("receipts", "find", "--trace-id", recall.trace_id, "--json").stdout)
    assert found["receipt_id"] == recall.attributes["agent_memory.receipt_id"]
    assert f"trace_id: {recall.trace_id}" in run("receipt", found["receipt_id"]).stdout
    failed = run("records", "get", CANARY)
    assert failed.returncode == 3
    told = next(line for line in failed.stderr.splitlines() if line.startswith("trace: "))
    in_json = json.loads(run("records", "get", CANARY, "--json").stderr)["error"]["trace_id"]
    assert {told.removeprefix("trace: "), in_json} <= {span.trace_id for span in collector.spans if span.status == 2}
    assert CANARY.encode() not in b"".join(collector.bodies)
