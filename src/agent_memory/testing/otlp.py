"""An OpenTelemetry collector on loopback, for tests of what is sent to one: it reads the real protobuf.

with Collector() as collector:
    run(env={**os.environ, **collector.environment})
    spans = collector.wait_for("recall")
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from agent_memory.testing.wire import Listener


@dataclass(frozen=True)
class OtlpSpan:
    """`parent_id` is empty at the root; `kind` and `status` are OTLP's numbers (3 is a client; 2 is an error)."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    status: int
    attributes: Mapping[str, Any]
    service: str
    milliseconds: float


class Collector(Listener):
    """Lives as long as the `with` block. `bodies` are the requests as they came."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"  # connections stay open, as with a real one

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf"
                collector.bodies.append(body)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                """Tests read `spans` instead."""

        super().__init__(Handler)

    @property
    def environment(self) -> dict[str, str]:
        """What makes a process send its traces here, and soon."""
        return {
            "AGENT_MEMORY_TELEMETRY": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.address,
            "OTEL_BSP_SCHEDULE_DELAY": "50",
        }

    @property
    def spans(self) -> list[OtlpSpan]:
        """All that came, in the order in which they ended."""
        return [span for body in self.bodies for span in _read(body)]

    def wait_for(self, *names: str, seconds: float = 20.0) -> list[OtlpSpan]:
        """All spans, once there is one of each of these names."""
        deadline = time.monotonic() + seconds
        while missing := set(names) - {span.name for span in self.spans}:
            if time.monotonic() > deadline:
                raise AssertionError(f"no {missing} among {self.spans}")
            time.sleep(0.02)
        return self.spans


def _read(body: bytes) -> list[OtlpSpan]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        OtlpSpan(
            one.name,
            one.trace_id.hex(),
            one.span_id.hex(),
            one.parent_span_id.hex(),
            one.kind,
            one.status.code,
            _values(one.attributes),
            _values(resource.resource.attributes)["service.name"],
            (one.end_time_unix_nano - one.start_time_unix_nano) / 1e6,
        )
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for one in scope.spans
    ]


def _values(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
