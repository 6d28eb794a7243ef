"""The gRPC server itself: a method for every operation, the streams, health and reflection."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from agent_memory.app.service import Service
from agent_memory.interfaces.grpc import descriptor, status
from agent_memory.interfaces.grpc.calls import MOST_STREAMS, Desk, Talks
from agent_memory.interfaces.grpc.schema import PACKAGE, schema
from agent_memory.models.errors import InvalidInput

WORKERS = 32
MOST_CALLS = 256  # at once; more are refused, and may try again
MOST_BYTES = 16 * 1024 * 1024
OPTIONS = (
    ("grpc.max_receive_message_length", MOST_BYTES),
    ("grpc.max_send_message_length", 4 * MOST_BYTES),
    ("grpc.so_reuseport", 0),  # two servers on one port would share the calls
)


class Door:
    """A running server. `port` is the one that it got."""

    def __init__(self, service: Service, address: str) -> None:
        self._stopping = threading.Event()
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="agent-memory-grpc")
        self._desk = Desk(service, self._stopping, threading.BoundedSemaphore(MOST_STREAMS))
        self._health = health.HealthServicer(experimental_non_blocking=True, experimental_thread_pool=self._pool)
        self._server = grpc.server(
            self._pool, interceptors=[Talks(self._desk)], options=OPTIONS, maximum_concurrent_rpcs=MOST_CALLS
        )
        self._add_services()
        try:
            self.port: int = self._server.add_insecure_port(address)
        except RuntimeError as error:
            self._pool.shutdown()
            raise InvalidInput(f"{address}: {error}", hint="choose another port", field="port") from None
        self._server.start()

    def _add_services(self) -> None:
        made = schema()
        pool = descriptor.pool_of(
            descriptor.file_of(made),
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
            self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        reflection.enable_server_reflection(names, self._server, pool)

    def stop(self, grace: float = 10.0) -> None:
        """No new calls; those in flight have so many seconds to finish. When this returns no thread is left."""
        self._stopping.set()
        self._health.enter_graceful_shutdown()
        self._server.stop(grace).wait()
        self._pool.shutdown()

    def __enter__(self) -> Door:
        return self

    def __exit__(self, *error: Any) -> None:
        self.stop()
