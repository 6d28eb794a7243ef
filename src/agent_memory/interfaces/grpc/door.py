"""The gRPC server itself: a method for every operation, the streams, health and reflection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from agent_memory.app.service import Service
from agent_memory.interfaces.connections import most_connections
from agent_memory.interfaces.grpc import descriptor, status
from agent_memory.interfaces.grpc.calls import MOST_STREAMS, CallDesk
from agent_memory.interfaces.grpc.guests import Guests
from agent_memory.interfaces.grpc.inbox import MOST_BYTES
from agent_memory.interfaces.grpc.reflection import Known
from agent_memory.interfaces.grpc.schema import PACKAGE, schema
from agent_memory.interfaces.tls import Tls
from agent_memory.models.errors import InvalidInput

WORKERS = 16
SHARE = 0.25  # of the connections that a process can have; the rest are for HTTP
MOST_CALLS = 2000  # at once, those that wait included; more are refused, and may try again
OPTIONS = (
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.max_send_message_length", 4 * MOST_BYTES),
    ("grpc.max_concurrent_streams", 100),  # of one connection
    ("grpc.max_allowed_incoming_connections", most_connections(SHARE)),
    ("grpc.http2.bdp_probe", 0),  # or the window of a stream grows until a message fits that nobody asked for
)
REUSE = "grpc.so_reuseport"  # several processes on one port share its connections


class GrpcDoor:
    """A running server, with an event loop and threads of its own. `port` is the one that it got."""

    def __init__(self, service: Service, address: str, tls: Tls | None = None, shares: bool = False) -> None:
        """`shares`: other processes of this server listen there, too."""
        self._stopping = threading.Event()
        self._threads = ThreadPoolExecutor(WORKERS, thread_name_prefix="agent-memory-grpc")
        self._desk = CallDesk(service, self._threads, self._stopping, threading.BoundedSemaphore(MOST_STREAMS))
        self._loop = asyncio.new_event_loop()
        self._turning = threading.Thread(target=self._loop.run_forever, name="agent-memory-grpc-loop", daemon=True)
        self._turning.start()
        try:
            self.port: int = self._within(self._open(address, tls, (*OPTIONS, (REUSE, int(shares)))))
        except RuntimeError as error:
            self._end()
            raise InvalidInput(f"{address}: {error}", hint="choose another port", field="port") from None

    async def _open(self, address: str, tls: Tls | None, options: tuple[tuple[str, int], ...]) -> int:
        self._health = health.aio.HealthServicer()
        self._server = grpc.aio.server(interceptors=(Guests(),), options=options, maximum_concurrent_rpcs=MOST_CALLS)
        port: int
        if tls is None:
            port = self._server.add_insecure_port(address)
        else:
            certificate, key = tls.read()
            shown = grpc.ssl_server_credentials([(key, certificate)])
            port = self._server.add_secure_port(address, shown)
        await self._add_services()
        await self._server.start()
        return port

    async def _add_services(self) -> None:
        made = schema()
        file = descriptor.file_of(made)
        pool = descriptor.pool_of(
            file,
            health_pb2.DESCRIPTOR.serialized_pb,
            reflection_pb2.DESCRIPTOR.serialized_pb,
            *status.FILES,
        )
        names = [health.SERVICE_NAME, reflection.SERVICE_NAME]
        for name, methods in made.services.items():
            names.append(f"{PACKAGE}.{name}")
            handlers = {
                one.name: self._desk.handler(
                    one,
                    descriptor.message_class(pool, one.request.name),
                    descriptor.message_class(pool, one.response.name),
                )
                for one in methods
            }
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(names[-1], handlers),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        for name in ("", *names):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        reflection.enable_server_reflection(names, self._server, Known(pool, made, file))

    def stop(self, grace: float = 10.0) -> None:
        """No new calls; those in flight have so many seconds to finish. When this returns no thread is left."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._within(self._health.enter_graceful_shutdown())
        self._within(self._server.stop(grace))
        self._end()

    def _end(self) -> None:
        self._threads.shutdown()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._turning.join()
        self._loop.close()

    def _within(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def __enter__(self) -> GrpcDoor:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()
