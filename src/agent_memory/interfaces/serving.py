"""One process for everything that listens: REST, and MCP and gRPC where they are installed.

A part brings one function. `interfaces/mcp/latent.py` has `mount(app, service, identify)`: it adds its routes to the
application and lives as long as that does. `interfaces/grpc/server.py` has `start(service, host, port, tls, shares)`:
it returns a server that listens, with `port` and `stop()`. Whichever is not there is not offered.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from agent_memory.app import bounds
from agent_memory.app.service import Service
from agent_memory.interfaces.loopback import is_local, listening
from agent_memory.interfaces.parts import needing
from agent_memory.interfaces.sockets import listening_at
from agent_memory.interfaces.tls import Tls
from agent_memory.models.errors import AgentMemoryError, InvalidInput, PartMissing
from agent_memory.ports.abandon import AbandonableCall, Abandoned

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

GRACE_SECONDS = 20
CALLS = 32.0  # MB that those who call at once take for themselves
HEADS = "agent_memory.interfaces.rest.heads"
EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
MCP, GRPC = "agent_memory.interfaces.mcp.latent", "agent_memory.interfaces.grpc.server"
Announce = Callable[[dict[str, str]], None]


@dataclass(frozen=True)
class Listen:
    """Where to listen, and under which other names this server may be called. Port 0 takes one that is free; a `port`
    of None is none, for a server at a Unix `socket` alone; a `grpc_port` of None is no gRPC. Without `jobs` nothing is
    done but what somebody asks for; without `tls` nothing is encrypted. With `shares` other processes of the same
    server listen there, too."""

    host: str = "127.0.0.1"
    port: int | None = 8005
    grpc_port: int | None = 8006
    hosts: frozenset[str] = frozenset()
    jobs: bool = True
    tls: Tls | None = None
    socket: Path | None = None
    shares: bool = False


def serve(
    service: Service, listen: Listen, announce: Announce, inherited: Sequence[socket.socket] | None = None
) -> None:
    """Listen until a signal comes; then finish what was begun, and close the service. `announce` is told, by name,
    where everything is, once the first request can be answered. `inherited` are sockets that somebody opened for it."""
    with contextlib.ExitStack() as held:
        held.callback(service.close)  # a second time there is nothing to close
        check(service, listen.host)
        held.enter_context(_warming(service))
        with needing("server"):
            import uvicorn

            heads = import_module(HEADS).TimedConnection
        sockets = opened(listen, held) if inherited is None else list(inherited)
        app, found = compose(service, listen)
        if (most := service.settings.max_memory_mb) is not None:
            bounds.hold(service.runtime, most, "max_memory", CALLS)
        where = _where(listen, found, sockets[-1])
        config = uvicorn.Config(
            app,
            http=heads,
            log_level="warning",
            access_log=False,  # what is asked for stands in the address
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
            lifespan="on",
            ssl_certfile=listen.tls.certificate if listen.tls else None,
            ssl_keyfile=listen.tls.key if listen.tls else None,
        )
        server = _server(uvicorn, config, app, lambda: announce(where))
        gc.collect()
        gc.freeze()  # what is loaded by now stays: it is not looked through for garbage again
        asyncio.run(server.serve(sockets=sockets))


def opened(listen: Listen, held: contextlib.ExitStack) -> list[socket.socket]:
    """What to listen on; the port, if there is one, comes last."""
    sockets = [held.enter_context(listening_at(listen.socket))] if listen.socket is not None else []
    if listen.port is not None:
        sockets.append(held.enter_context(listening(listen.host, listen.port, "--port")))
    return sockets


def _where(listen: Listen, found: dict[str, str], last: socket.socket) -> dict[str, str]:
    """The addresses of what was found. What has a path alone is at the port, if there is one."""
    host = _reached(listen)
    where = {} if listen.socket is None else {"socket": f"unix://{listen.socket}"}
    for name, at in found.items():
        if not at.startswith("/"):
            where[name] = at
        elif listen.port is not None:
            where[name] = f"{'https' if listen.tls else 'http'}://{host}:{last.getsockname()[1]}{at}"
    return where


def _reached(listen: Listen) -> str:
    """By which name somebody gets there: nobody can connect to all addresses."""
    if listen.host in EVERYWHERE:
        return min(listen.hosts, default="localhost")
    return f"[{listen.host}]" if ":" in listen.host else listen.host


@contextlib.contextmanager
def _warming(service: Service) -> Iterator[None]:
    """The model is loaded while the routes are made; an embedder that is out of reach is told by the calls. Nothing
    ends before the thread does: native code that is loaded while the interpreter goes takes the process down."""
    call = AbandonableCall()
    thread = threading.Thread(target=call.run, args=(lambda: _warm(service),), daemon=True)
    thread.start()
    try:
        yield
    finally:
        call.abandon()
        thread.join(GRACE_SECONDS)


def _warm(service: Service) -> None:
    with contextlib.suppress(AgentMemoryError, Abandoned):
        service.runtime.embedder.embed_many(["warm"])


def check(service: Service, host: str) -> None:
    """Whoever reaches it may do everything, unless a key is asked for: so then only this machine may reach it."""
    if not is_local(host) and not service.has_keys():
        raise InvalidInput(
            f"host: {host} can be reached from other machines, and no key is asked for",
            hint="listen on 127.0.0.1, or make one first: `agent-memory keys create`",
            field="host",
        )


def compose(service: Service, listen: Listen) -> tuple[FastAPI, dict[str, str]]:
    """The application with all that is installed, and where each part of it is."""
    with needing("server"):
        from agent_memory.interfaces.rest.app import create_app

    app = create_app(service, listen.hosts)
    found = {"rest": "/v1", "docs": "/docs"}
    with contextlib.suppress(_Absent):
        _ours(MCP).mount(app, service, app.state.identify)
        _ours(MCP).mount(app, service, app.state.identify, toolsets=["compat"], path="/mcp/compat")
        found["mcp"] = "/mcp"
    if listen.grpc_port is not None:
        with contextlib.suppress(_Absent, PartMissing):
            door = _ours(GRPC).start(service, listen.host, listen.grpc_port, listen.tls, listen.shares)
            _stop_with(app, door.stop)
            found["grpc"] = f"{_reached(listen)}:{door.port}"
    if listen.jobs:
        worker = service.worker()
        _stop_with(app, worker.stop, worker.start)
    return app, found


def _stop_with(app: FastAPI, stop: Callable[[], Any], start: Callable[[], None] = lambda: None) -> None:
    """What works beside the application stops before the store is closed."""
    around = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def living(inside: Any) -> AsyncIterator[Any]:
        async with around(inside) as state:
            start()
            try:
                yield state
            finally:
                await asyncio.to_thread(stop)

    app.router.lifespan_context = living


class _Absent(Exception):
    """A part that is not installed."""


def _ours(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise _Absent(module) from error


def _server(uvicorn: ModuleType, config: uvicorn.Config, app: FastAPI, started: Callable[[], None]) -> uvicorn.Server:
    """A server that says when it answers, ends its streams when it is told to stop, and then just returns."""

    class Server(uvicorn.Server):  # type: ignore[name-defined, misc]
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                started()

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            app.state.stopping.set()
            super().handle_exit(sig, frame)

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            before = {sig: signal.signal(sig, self.handle_exit) for sig in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for sig, handler in before.items():
                    signal.signal(sig, handler)

    return Server(config)
