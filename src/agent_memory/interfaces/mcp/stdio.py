"""MCP over the standard streams: one agent, one process, as many processes on one store as there are agents.

The standard output carries the protocol and nothing else; logs go to the standard error.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable

import anyio
from mcp.server.stdio import stdio_server

from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.mcp.server import Door


def serve(service: Service, caller: Caller, toolsets: Iterable[str] = ()) -> None:
    """Until the other side closes the input. What was begun is finished, and the store is closed."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="agent-memory: %(levelname)s %(message)s")
    server = Door(service, lambda _: caller, toolsets).server()

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    try:
        anyio.run(run)
    finally:
        service.close()
