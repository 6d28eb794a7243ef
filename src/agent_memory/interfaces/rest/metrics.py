"""`/metrics` for Prometheus: how many, how long, how much. Labels name operations, never what anybody says. C17."""

from __future__ import annotations

import time
from collections.abc import Iterator, MutableMapping
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from starlette.responses import Response

from agent_memory.app.namespaces.upkeep import resident_bytes
from agent_memory.app.operations import TABLE, Operation, Permission
from agent_memory.app.service import Service
from agent_memory.core.recall.score import CHANNEL
from agent_memory.interfaces.rest.guard import App, Message, Receive, Send
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Scope
from agent_memory.ports.feed import JobOutcome
from agent_memory.ports.records import View
from agent_memory.ports.watch import State, Wait

FINE = (0.0001, 0.00025, 0.0005)
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
RECALLS = frozenset({"recall", "remember", "contexts.assemble"})
ELSEWHERE = "other"


class Metrics:
    """Counts the calls of a service, through whichever door, and the requests of this one."""

    def __init__(self, service: Service) -> None:
        self._registry = CollectorRegistry()
        self._calls = self._counter(
            "calls", "Operations by outcome: ok, or the code of the error", "operation", "outcome"
        )
        self._recalls = self._counter("recalls", "Recalls, also within remember and contexts, that were answered")
        self._writes = self._counter("writes", "Operations that write, and were acknowledged")
        self._requests = self._counter("http_requests", "Requests by route and status", "route", "status")
        self._seconds = self._histogram("call_seconds", "How long an operation took", "operation")
        self._http_seconds = self._histogram("http_request_seconds", "Until the last byte of the answer", "route")
        self._parts = Histogram(
            "agent_memory_part_seconds",
            "How long a part of an operation took",
            ["part"],
            buckets=(*FINE, *SECONDS),
            registry=self._registry,
        )
        self._known: dict[str, Histogram] = {}
        self._shown = self._registry
        if service.board is not None:  # the others count as well, and the sum is told
            self._shown = CollectorRegistry()
            MultiProcessCollector(self._shown, path=str(service.board.counts))  # type: ignore[no-untyped-call]
        self._shown.register(_Sizes(service))
        self._job_runs = self._counter("job_runs", "Runs of a background job that came to their end", "job")
        self._job_failures = self._counter("job_failures", "Runs of a background job that failed", "job")
        self._job_seconds = self._histogram("job_seconds", "How long a run of a background job took", "job")
        service.runtime.store.watch(_Connections(self._registry))
        service.observe, service.note, service.observe_job = self.called, self.noted, self.worked

    def called(self, operation: Operation, outcome: str, seconds: float) -> None:
        self._calls.labels(operation.name, outcome).inc()
        self._seconds.labels(operation.name).observe(seconds)
        if outcome == "ok" and operation.name in RECALLS:
            self._recalls.inc()
        if outcome == "ok" and operation.permission is not Permission.READ:
            self._writes.inc()

    def noted(self, part: str, seconds: float) -> None:
        """Whole operations have a histogram of their own; channels are for traces alone."""
        if part.startswith(CHANNEL) or part in TABLE:
            return
        if part not in self._known:
            self._known[part] = self._parts.labels(part)
        self._known[part].observe(seconds)

    def worked(self, job: str, run: JobOutcome) -> None:
        (self._job_runs if run.error is None else self._job_failures).labels(job).inc()
        self._job_seconds.labels(job).observe(run.seconds)

    def requested(self, route: str, status: int, seconds: float) -> None:
        self._requests.labels(route, str(status)).inc()
        self._http_seconds.labels(route).observe(seconds)

    def answer(self) -> Response:
        return _text(self._shown)

    def store_down(self) -> Response:
        """All that is told while the store cannot be read, and nobody can be asked for a key that it knows."""
        bare = CollectorRegistry()
        bare.register(_Told(_up(0)))
        return _text(bare)

    def _counter(self, name: str, meaning: str, *labels: str) -> Counter:
        return Counter(f"agent_memory_{name}", meaning, labels, registry=self._registry)

    def _histogram(self, name: str, meaning: str, *labels: str) -> Histogram:
        return Histogram(f"agent_memory_{name}", meaning, labels, buckets=SECONDS, registry=self._registry)


def _text(registry: CollectorRegistry) -> Response:
    return Response(generate_latest(registry), headers={"content-type": CONTENT_TYPE_LATEST})


class Measured:
    """ASGI middleware: every request is counted, refused ones too."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        status = 0

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "name", None) or ELSEWHERE
            self._metrics.requested(route, status, time.perf_counter() - begun)


def _up(value: int) -> GaugeMetricFamily:
    return GaugeMetricFamily("agent_memory_store_up", "Whether the store can be read", value)


class _Connections:
    """Those of the store, where it has some. Gauges are the sum over the processes that are alive."""

    def __init__(self, registry: CollectorRegistry) -> None:
        name, meaning = "agent_memory_store_connections", "Connections to the store, and who waits for one"
        self._counted = Gauge(name, meaning, ["state"], registry=registry, multiprocess_mode="livesum")
        name, meaning = "agent_memory_store_wait_seconds", "How long calls waited for a connection or a tenant's head"
        self._waited = Histogram(name, meaning, ["what"], buckets=(*FINE, *SECONDS), registry=registry)
        name, meaning = "agent_memory_store_busy", "Waits that were given up: the call was told that the store is busy"
        self._given_up = Counter(name, meaning, ["what"], registry=registry)

    def connections(self, state: State, change: int) -> None:
        self._counted.labels(state).inc(change)

    def waited(self, what: Wait, seconds: float) -> None:
        self._waited.labels(what).observe(seconds)

    def gave_up(self, what: Wait) -> None:
        self._given_up.labels(what).inc()


class _Told(Collector):
    """Values that are known already. (A gauge of several processes would be kept, and told for ever.)"""

    def __init__(self, *told: GaugeMetricFamily) -> None:
        self._told = told

    def collect(self) -> Iterator[GaugeMetricFamily]:
        return iter(self._told)


class _Sizes(Collector):
    """Read when asked for."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def _view(self) -> View:
        """The size of the store is the same for all: one who sees little is counted quickly."""
        return View(Scope(tenant=self._service.settings.tenant), to_micros(self._service.clock.now()))

    def describe(self) -> Iterator[GaugeMetricFamily]:
        return iter(())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        runtime = self._service.runtime
        try:
            pending = runtime.store.index.pending(runtime.embedding.space)
            size = runtime.store.records.stats(self._view())["bytes_on_disk"]
            behind = sum(one.vectors for one in runtime.store.vectors.lags())
        except AgentMemoryError:
            up = 0
        else:
            up = 1
            yield GaugeMetricFamily("agent_memory_pending_vectors", "Texts whose vectors are still to be made", pending)
            yield GaugeMetricFamily("agent_memory_vectors_behind", "Vectors that a vector store misses", behind)
            yield GaugeMetricFamily("agent_memory_store_bytes", "Size of the store", size)
        yield _up(up)
        board = self._service.board
        found = [resident_bytes()] if board is None else [resident_bytes(one) for one in board.ready()]
        if resident := sum(filter(None, found)):
            yield GaugeMetricFamily("agent_memory_resident_bytes", "Memory of the server's processes", resident)
