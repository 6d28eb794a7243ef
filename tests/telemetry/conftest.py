"""A real collector for each test, and this process sending to it where a test asks for that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_memory.app import telemetry
from agent_memory.testing.otlp import Collector


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as running:
        yield running


@pytest.fixture
def traced(home: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """From its first client on, this process sends traces."""
    for name, value in collector.environment.items():
        monkeypatch.setenv(name, value)
    yield collector
    telemetry.end()
