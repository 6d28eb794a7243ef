"""Every test has a home of its own: no store outlives it, and nobody's real memories are touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("AGENT_MEMORY_", "OPENAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AGENT_MEMORY_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


class SteppingClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, start: datetime = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)) -> None:
        self.moment = start

    def now(self) -> datetime:
        return self.moment

    def forward(self, **span: float) -> datetime:
        self.moment += timedelta(**span)
        return self.moment


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock()


@pytest.fixture
def memory(home: Path) -> Iterator[object]:
    from agent_memory import AgentMemory

    with AgentMemory(user_id="ada", conversation_id="c1") as opened:
        yield opened


@pytest.fixture
def timed(home: Path, clock: SteppingClock) -> Iterator[object]:
    """A memory whose time is the test's."""
    from agent_memory import AgentMemory

    with AgentMemory(user_id="ada", conversation_id="c1", clock=clock) as opened:
        yield opened
