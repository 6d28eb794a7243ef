"""The SDK's own client for the tests of the MCP door: over stdio, over HTTP, and in this process."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
import uvicorn
from mcp import Client
from mcp.client.stdio import stdio_client
from talking import Talk, program

from agent_memory.app import config
from agent_memory.app.service import Caller, CallerClaim, Service
from agent_memory.interfaces.mcp.latent import mount
from agent_memory.interfaces.mcp.server import McpDoor
from agent_memory.interfaces.rest.app import create_app
from patience import PATIENCE


@pytest.fixture
def stdio(warm: None) -> Callable[..., Any]:
    """Talk to a process of its own, with a client that names these roots, if any."""

    def run(talk: Talk, *words: str, mode: str = "auto", roots: list[Path] | None = None) -> Any:
        async def named(_: Any) -> types.ListRootsResult:
            return types.ListRootsResult(roots=[types.Root(uri=root.as_uri()) for root in roots or ()])

        async def session() -> Any:
            asked = {} if roots is None else {"list_roots_callback": named}
            async with Client(stdio_client(program(*words)), mode=mode, **asked) as client:
                return await talk(client)

        return asyncio.run(session())

    return run


@pytest.fixture
def service(home: Path) -> Iterator[Service]:
    opened = Service(config.load())
    yield opened
    opened.close()


@pytest.fixture
def inside(service: Service) -> Callable[..., Any]:
    """Talk to a server in this process: what is offered does not depend on the way to it."""

    def run(talk: Talk, *toolsets: str, caller: Caller | None = None) -> Any:
        who = caller or service.identify(CallerClaim(user="ada"))

        async def session() -> Any:
            async with Client(McpDoor(service, lambda _: who, toolsets).server()) as client:
                return await talk(client)

        return asyncio.run(session())

    return run


@pytest.fixture
def url(home: Path) -> Iterator[str]:
    """A server with REST and MCP, on a free port."""
    service = Service(config.load())
    app = create_app(service)

    mount(app, service, app.state.identify)
    free = socket.socket()
    free.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [free]})
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{free.getsockname()[1]}"
    server.should_exit = True
    thread.join(PATIENCE)
    assert not thread.is_alive()
