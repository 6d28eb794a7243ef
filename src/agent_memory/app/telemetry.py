"""Traces for whoever runs this: off unless `AGENT_MEMORY_TELEMETRY` says otherwise. Once for a process."""

from __future__ import annotations

import atexit
import os
import threading
from typing import TYPE_CHECKING

from agent_memory.models.errors import InvalidInput, PartMissing
from agent_memory.ports import spans

if TYPE_CHECKING:
    from agent_memory.app.config import Settings
    from agent_memory.engines.opentelemetry.tracer import OtelTracer

OFF = "off"
_lock = threading.Lock()
_tracer: OtelTracer | None = None
_watching = False


def begin(settings: Settings) -> None:
    """Send traces from now on, if these settings say so and no others did before."""
    global _tracer
    if settings.telemetry == OFF:
        return
    with _lock:
        if _tracer is None:
            _tracer = _opened()
            spans.use(_tracer)
            _watch()


def end() -> None:
    """Send what waits, for a bounded time, and nothing more."""
    global _tracer
    with _lock:
        ending, _tracer = _tracer, None
        spans.use(None)
    if ending is not None:
        ending.end()


def _opened() -> OtelTracer:
    from agent_memory import __version__

    try:
        from agent_memory.engines.opentelemetry.tracer import OtelTracer
    except ImportError as error:
        raise PartMissing(
            f"traces need {error.name or 'opentelemetry'}, which is not installed",
            hint="pip install 'agent-memory[telemetry]', or unset AGENT_MEMORY_TELEMETRY",
        ) from error
    try:
        return OtelTracer(__version__)
    except ValueError as error:  # of an `OTEL_*` variable
        raise InvalidInput(f"telemetry: {error}", hint="correct the OTEL_* variables", field="telemetry") from error


def _watch() -> None:
    global _watching
    if not _watching:
        atexit.register(end)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_after_fork)
        _watching = True


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    if _tracer is not None:
        _tracer.after_fork()
