"""Lines off the hot path: a call only appends to a list; a second later, at the latest, they are in the store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from agent_memory.models.errors import AgentMemoryError
from agent_memory.ports import spans

FLUSH_SECONDS = 1.0
FLUSH_LINES = 200
_log = spans.log(__name__)
Line = TypeVar("Line")


class Book(Generic[Line]):
    """Collects lines and writes them in batches. What cannot be written is logged, never raised."""

    def __init__(self, keep: Callable[[Sequence[Line]], None]) -> None:
        self._keep = keep
        self._lines: list[Line] = []
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def add(self, line: Line) -> None:
        with self._lock:
            self._lines.append(line)
            full = len(self._lines) >= FLUSH_LINES
            if self._timer is None and not full:
                self._timer = threading.Timer(FLUSH_SECONDS, self.flush)
                self._timer.daemon = True
                self._timer.start()
        if full:
            self.flush()

    def flush(self) -> None:
        with self._lock:
            lines, self._lines = self._lines, []
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        if lines:
            try:
                self._keep(lines)
            except AgentMemoryError as error:
                _log.warning("%d lines were not kept: %s", len(lines), error)

    def after_fork(self) -> None:
        """In a child: the parent writes what waits; its timer does not run here, and its lock may be held."""
        self._lock = threading.Lock()
        self._lines, self._timer = [], None
