"""Traces are off unless our own setting says so; and a collector that is gone is nobody's trouble. P10, P16."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from agent_memory import AgentMemory
from agent_memory.app import telemetry
from agent_memory.models.errors import InvalidInput, PartMissing
from agent_memory.ports import spans
from agent_memory.testing.otlp import Collector
from patience import FOREVER, PATIENCE, silent

OFF = """
import sys, threading
opened = []
sys.addaudithook(lambda event, args: opened.append(event) if event.startswith("socket.") else None)
from agent_memory import AgentMemory
with AgentMemory("ada") as memory:
    memory.records.add("the model is loaded for this")
    assert memory.recall("model")[0].text
    memory.assemble_context("model")
    assert memory.receipts.find()[0].trace_id is None
assert opened == [], opened
assert threading.active_count() == 1, threading.enumerate()
assert not [name for name in sys.modules if name.partition(".")[0] == "opentelemetry"]

from agent_memory.app.service import Service
from agent_memory.interfaces.serving import Listen, compose
service = Service()
compose(service, Listen(grpc_port=None))
service.close()
loaded = [name for name in sys.modules if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter"))]
assert not loaded, loaded  # FastAPI and MCP load the names alone
"""


@pytest.mark.requirement("P10", "P16")
@pytest.mark.parametrize("setting", [{}, {"AGENT_MEMORY_TELEMETRY": "off"}])
def test_it_is_off_unless_our_own_setting_says_so(home: object, collector: Collector, setting: dict[str, str]) -> None:
    """Variables that are meant for another program in the same environment turn nothing on."""
    environment = {**os.environ, **collector.environment}
    del environment["AGENT_MEMORY_TELEMETRY"]
    ran = subprocess.run([sys.executable, "-c", OFF], env={**environment, **setting}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert collector.bodies == []


def test_a_value_that_is_none_is_refused(home: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_TELEMETRY", "jaeger")
    with pytest.raises(InvalidInput) as error:
        AgentMemory("ada")
    assert "AGENT_MEMORY_TELEMETRY" in error.value.message and "otlp" in error.value.message


MISSING = """
import sys
sys.modules["opentelemetry.sdk"] = None
from agent_memory import AgentMemory
from agent_memory.models.errors import PartMissing
try:
    AgentMemory("ada")
except PartMissing as error:
    assert "agent-memory[telemetry]" in error.hint, error.hint
else:
    raise AssertionError
"""


def test_a_missing_extra_is_named(home: object, collector: Collector) -> None:
    environment = {**os.environ, **collector.environment}
    ran = subprocess.run([sys.executable, "-c", MISSING], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_the_doctor_says_whether_it_is_on(traced: Collector) -> None:
    from agent_memory.app.doctor import examine

    assert [check.detail for check in examine() if check.name == "telemetry"] == ["traces are sent over otlp"]
    telemetry.end()
    os.environ["AGENT_MEMORY_TELEMETRY"] = "off"
    assert [check.detail for check in examine() if check.name == "telemetry"] == ["off"]


@contextmanager
def closed() -> Iterator[int]:
    """A port at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


GONE = """
from agent_memory import AgentMemory
with AgentMemory("ada") as memory:
    memory.records.add("something to find")
    for number in range(300):
        memory.recall(f"what is there to find, {number}?")
"""


@pytest.mark.requirement("P16")
@pytest.mark.parametrize("where", [closed, silent])
def test_a_collector_that_is_gone_is_not_noticed(home: object, where: Callable[[], Iterator[int]]) -> None:
    """300 recalls make more spans than the queue holds, and the exporter waits for ever: neither a call nor the end of
    the process waits for it."""
    with where() as port:
        environment = {
            **os.environ,
            "AGENT_MEMORY_TELEMETRY": "otlp",
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{port}",
            "OTEL_BSP_SCHEDULE_DELAY": "50",
            "OTEL_EXPORTER_OTLP_TIMEOUT": str(FOREVER),
        }
        command = [sys.executable, "-c", GONE]
        ran = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
        assert ran.returncode == 0, ran.stderr


def test_it_ends_once_and_begins_again(traced: Collector) -> None:
    before = threading.enumerate()
    for number in range(2):
        with AgentMemory("ada") as memory:
            memory.records.add(f"round {number}")
        assert spans.tracing() and _begun(before), "it has threads of its own"
        telemetry.end()
        telemetry.end()
        assert not spans.tracing()
    assert [span.name for span in traced.spans].count("records.add") == 2
    assert not _begun(before)


def _begun(before: list[threading.Thread]) -> list[threading.Thread]:
    """Threads that telemetry began since."""
    return [
        one
        for one in threading.enumerate()
        if one not in before and one.name.startswith(("Otel", "agent-memory-traces"))
    ]


def test_the_part_is_missing_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from agent_memory.app.config import Settings

    monkeypatch.setitem(sys.modules, "agent_memory.engines.opentelemetry.tracer", None)
    with pytest.raises(PartMissing):
        telemetry.begin(Settings(telemetry="otlp"))
    assert not spans.tracing()
