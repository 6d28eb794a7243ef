"""An operation is declared once: a toy that is added to the table is in every door and in every reference, and gone
from all of them when it is taken out again."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from foreign import Foreign
from mcp import Client
from starlette.testclient import TestClient

from agent_memory import AgentMemory, AsyncAgentMemory
from agent_memory.app import aio
from agent_memory.app.namespaces import Records
from agent_memory.app.operations import TABLE, ToolSlot, operation
from agent_memory.app.service import CallerClaim, Service
from agent_memory.interfaces.cli import commands, reference
from agent_memory.interfaces.grpc.schema import schema
from agent_memory.interfaces.grpc.server import start
from agent_memory.interfaces.grpc.text import text as proto
from agent_memory.interfaces.mcp.server import McpDoor
from agent_memory.interfaces.rest.app import create_app
from agent_memory.models.errors import InvalidInput

SCRIPTS = Path(__file__).parents[2] / "scripts"
CACHED: tuple[Any, ...] = (commands.top, commands.namespaces, aio.mirror)


@operation("records.shout", "POST /toys/{key}/shout", mcp=[ToolSlot("core", "records_shout")], command="shout")
def shout(self: Records, key: str, limit: int = 1) -> list[str]:
    """Say the name of a toy loudly."""
    return [f"{key.upper()} for {self._client.scope.user}"] * limit


TOY = TABLE.pop("records.shout")
LOUD = ["BALL for ada", "BALL for ada"]


@pytest.fixture
def toy(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as declared:
        declared.setattr(Records, "shout", shout, raising=False)
        declared.setitem(TABLE, TOY.name, TOY)
        _afresh()
        yield
    _afresh()


def _afresh() -> None:
    """What a process learns of the table once, it learns again."""
    for one in CACHED:
        one.cache_clear()


def script(name: str) -> Any:
    found = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert found is not None and found.loader is not None
    made = importlib.util.module_from_spec(found)
    found.loader.exec_module(made)
    return made


def in_process(_: Any) -> Any:
    with AgentMemory("ada") as memory:
        with pytest.raises(InvalidInput) as wrong:
            memory.records.shout("ball", limit="many")  # type: ignore[attr-defined]
        assert wrong.value.field == "limit"
        return memory.records.shout("ball", 2)  # type: ignore[attr-defined]


def awaited(_: Any) -> Any:
    async def ask() -> Any:
        async with AsyncAgentMemory("ada") as memory:
            return await memory.records.shout("ball", limit=2)  # type: ignore[attr-defined]

    return asyncio.run(ask())


def our_client(request: pytest.FixtureRequest) -> Any:
    with request.getfixturevalue("serving")() as url, AgentMemory("ada", store=url) as memory:
        return memory.records.shout("ball", limit=2)  # type: ignore[attr-defined]


def rest(_: Any) -> Any:
    with TestClient(create_app(Service()), "http://localhost", client=("127.0.0.1", 50000)) as http:
        ada = {"x-memory-user": "ada"}
        assert "/v1/toys/{key}/shout" in http.get("/openapi.json").json()["paths"]
        assert http.post("/v1/toys/ball/shout", json={"limit": "x"}).json()["field"] == "limit"
        by_name = http.post("/v1/call/records.shout", json={"key": "ball", "limit": 2}, headers=ada).json()
        assert by_name == http.post("/v1/toys/ball/shout", json={"limit": 2}, headers=ada).json()
        return by_name


def grpc(_: Any) -> Any:
    service = Service()
    try:
        with start(service, port=0) as door:
            client = Foreign(door.port)
            try:
                return client.call("RecordsService/Shout", {"key": "ball", "limit": 2})
            finally:
                client.close()
    finally:
        service.close()


def mcp(_: Any) -> Any:
    service = Service()
    caller = service.identify(CallerClaim(user="ada"))

    async def ask() -> Any:
        async with Client(McpDoor(service, lambda _: caller).server()) as client:
            tools = {one.name: one for one in (await client.list_tools()).tools}
            assert tools["records_shout"].description == "Say the name of a toy loudly."
            return (await client.call_tool("records_shout", {"key": "ball", "limit": 2})).structured_content

    try:
        answer = asyncio.run(ask())
        assert answer is not None
        return answer["result"]
    finally:
        service.close()


def command_line(request: pytest.FixtureRequest) -> Any:
    here = request.getfixturevalue("here")
    assert "Say the name of a toy loudly" in here("records", "--help").out
    long = here("--user", "ada", "records", "shout", "ball", "--limit", "2", "--json").json
    assert long == here("--user", "ada", "shout", "ball", "--limit", "2", "--json").json
    return long


DOORS = (in_process, awaited, our_client, rest, grpc, mcp, command_line)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_a_toy_operation_is_in_every_door(
    toy: None, door: Callable[[pytest.FixtureRequest], Any], request: pytest.FixtureRequest
) -> None:
    assert door(request) == LOUD


REFERENCES: dict[str, tuple[Callable[[], str], str]] = {
    "operations.md": (lambda: script("reference").operations(), "### `records.shout`\n\nread · `POST /v1/toys/{key}"),
    "cli.md": (reference.page, "### agent-memory shout\n\nSay the name of a toy loudly."),
    "aio.pyi": (
        lambda: script("stubs").stub(),
        "async def shout(self: Records, key: str, limit: int = ..., *, why: str | None = ...) -> list[str]",
    ),
    "memory.proto": (lambda: proto(schema()), "  // Say the name of a toy loudly.\n  rpc Shout("),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_a_toy_operation_is_in_every_reference(name: str, request: pytest.FixtureRequest) -> None:
    written, said = REFERENCES[name]
    assert said not in written()
    request.getfixturevalue("toy")
    assert said in written()
