"""MCP over the standard streams: one agent, one process, as many processes on one store as there are agents.

The standard output carries the protocol and nothing else; logs go to the standard error. Ctrl-C ends the input: the
SDK reads it in a thread that nothing can wake, so where there are signals it reads a pipe of ours instead.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import anyio
from mcp.server.stdio import stdio_server

from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.mcp.roots import Roots
from agent_memory.interfaces.mcp.server import McpDoor

PIECE = 65536


def serve(service: Service, caller: Caller, toolsets: Iterable[str] = ()) -> bool:
    """Until the other side closes the input, or Ctrl-C: True if it was that. What was begun is finished, and the store
    is closed."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="agent-memory: %(levelname)s %(message)s")
    roots = Roots() if service.workplace.own and service.settings.workplace is None else None
    server = McpDoor(service, lambda _: caller, toolsets, roots).server()

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    try:
        with _until_ctrl_c() as stopped:
            anyio.run(run)
        return stopped.is_set()
    finally:
        service.close()


@contextmanager
def _until_ctrl_c() -> Iterator[threading.Event]:
    """The standard input is a pipe that a thread fills, until there is no more or Ctrl-C. The second one kills."""
    stopped = threading.Event()
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield stopped
        return
    wire = os.dup(0)
    read, write = os.pipe()
    woken, wake = os.pipe()
    os.dup2(read, 0)
    os.close(read)

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        stopped.set()
        os.write(wake, b".")

    threading.Thread(target=_pump, args=(wire, write, woken), daemon=True).start()
    before = signal.signal(signal.SIGINT, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGINT, before)


def _pump(wire: int, into: int, woken: int) -> None:
    with os.fdopen(into, "wb") as pipe:
        while woken not in select.select([wire, woken], [], [])[0] and (data := os.read(wire, PIECE)):
            try:
                pipe.write(data)
                pipe.flush()
            except BrokenPipeError:  # nobody reads it any more
                return
