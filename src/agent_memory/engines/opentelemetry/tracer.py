"""Spans to an OpenTelemetry collector, over OTLP. Where to, how often and how many: the `OTEL_*` variables, as always.

Promises: a call never waits for the collector, be it slow or gone; what does not fit into the queue is dropped. A child
of a fork sends its own spans over connections of its own. The end of the process waits two seconds for it at most.

The provider is our own, never the process's: other libraries hand messages of errors, arguments and addresses to that
one, and these may hold what somebody remembers.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from agent_memory.ports.spans import Side, Value

NAME = "agent-memory"
PREFIX = "agent_memory."
END_SECONDS = 2.0
_KINDS = {Side.INSIDE: SpanKind.INTERNAL, Side.SERVER: SpanKind.SERVER, Side.CLIENT: SpanKind.CLIENT}
_W3C = TraceContextTextMapPropagator()


class OtelTracer:
    """The `Tracer` port. Begins at once, so that what is wrong with the settings is said at once."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._sending = _Sending(version)

    def span(
        self, name: str, side: Side, attributes: Mapping[str, Value], caller: Mapping[str, str] | None
    ) -> AbstractContextManager[object]:
        if caller is None and isinstance(trace.get_current_span(), _Skipped):
            return _NOTHING
        within = None if caller is None else _W3C.extract(dict(caller))
        started = self._here().tracer.start_span(
            name, within, _KINDS[side], _shown(attributes), record_exception=False, set_status_on_exception=False
        )
        return _Open(started)

    def untold(self) -> AbstractContextManager[object]:
        return _Open(trace.INVALID_SPAN)

    def tell(self, attributes: Mapping[str, Value]) -> None:
        trace.get_current_span().set_attributes(_shown(attributes))

    def rename(self, name: str) -> None:
        trace.get_current_span().update_name(name)

    def trace_id(self) -> str | None:
        return _id(trace.get_current_span())

    def headers(self) -> dict[str, str]:
        carried: dict[str, str] = {}
        _W3C.inject(carried)
        return carried

    def end(self) -> None:
        """Send what waits; when this returns, after two seconds at most, nothing more is taken."""
        self._sending.end()

    def _here(self) -> _Sending:
        """A child of a fork has threads and connections of its own."""
        if self._sending.process != os.getpid():
            with self._lock:
                if self._sending.process != os.getpid():
                    self._sending = _Sending(self._version)
        return self._sending

    def after_fork(self) -> None:
        """In a child: another thread may have held this."""
        self._lock = threading.Lock()


class _Sending:
    """What one process has: a queue, a thread that empties it, and one that waits for the end. (At the end of a process
    no thread can be begun any more.)"""

    def __init__(self, version: str) -> None:
        self.process = os.getpid()
        self._provider = TracerProvider(resource=_resource(version), shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self.tracer = self._provider.get_tracer(NAME, version)
        self._over = threading.Event()
        self._closer = threading.Thread(target=self._close, name="agent-memory-traces", daemon=True)
        self._closer.start()

    def end(self) -> None:
        if self.process == os.getpid():
            self._over.set()
            self._closer.join(END_SECONDS)

    def _close(self) -> None:
        self._over.wait()
        self._provider.shutdown()


class _Skipped(trace.NonRecordingSpan):
    """A call of ours that is not told; nor are its parts, so that nobody need ask for each of them."""


_NOTHING = nullcontext()


class _Open:
    def __init__(self, span: trace.Span) -> None:
        self._span = span if span.is_recording() else _Skipped(span.get_span_context())

    def __enter__(self) -> None:
        self._token = context.attach(trace.set_span_in_context(self._span))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        context.detach(self._token)
        if error is not None:
            self._span.set_attribute("error.type", getattr(error, "code", None) or type(error).__name__)
            self._span.set_status(Status(StatusCode.ERROR))
            if getattr(error, "trace_id", None) is None:
                error.trace_id = _id(self._span)  # type: ignore[attr-defined]
        self._span.end()


def _id(span: trace.Span) -> str | None:
    found = span.get_span_context()
    return trace.format_trace_id(found.trace_id) if found.is_valid else None


def _shown(attributes: Mapping[str, Value]) -> dict[str, str | int | float | bool]:
    """Names of our own get our prefix; those of OpenTelemetry have dots."""
    return {name if "." in name else PREFIX + name: value for name, value in attributes.items() if value is not None}


def _resource(version: str) -> Resource:
    """As the variables describe it. The words of a command line may be what somebody remembers."""
    made = dict(Resource.create({"service.version": version}).attributes)
    if str(made["service.name"]).startswith("unknown_service"):
        made["service.name"] = NAME
    return Resource({name: value for name, value in made.items() if not name.startswith("process.command")})
