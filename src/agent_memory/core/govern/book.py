"""Lines off the hot path: a call only appends to a list; a second later, at the latest, they are in the store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from agent_memory.models.errors import AgentMemoryError, StoreError
from agent_memory.ports import spans

FLUSH_SECONDS = 1.0
FLUSH_LINES = 200
MOST_LINES = 10_000
_log = spans.log(__name__)
Line = TypeVar("Line")


class Book(Generic[Line]):
    """Collects lines and writes them in batches, in a thread of its own. What cannot be written now is tried again, as
    long as there are not too many; what cannot be written at all is logged, never raised."""

    def __init__(self, keep: Callable[[Sequence[Line]], None], at_once: int = FLUSH_LINES) -> None:
        """`at_once`: so many are written before their second is over."""
        self._keep = keep
        self._at_once = at_once
        self._lines: list[Line] = []
        self._timer: threading.Timer | None = None
        self._trouble = ""
        self._closed = False
        self._lock = threading.Lock()
        self._writing = threading.Lock()  # what one thread has taken, another cannot read before it is written

    def add(self, line: Line) -> None:
        with self._lock:
            self._lines.append(line)
            if self._timer is None:
                self._soon(FLUSH_SECONDS)
            elif len(self._lines) == self._at_once:
                self._timer.cancel()
                self._soon(0.0)

    def flush(self) -> None:
        """Write what waits, now, and wait for who writes already; what cannot be written stays, unless this is
        closed."""
        with self._writing:
            lines = self._taken()
            if not lines or (error := self._write(lines)) is None:
                return
            with self._lock:
                self._lines = [*lines, *self._lines]
                lost = len(self._lines) - (0 if self._closed else MOST_LINES)
                del self._lines[: max(0, lost)]
                if self._lines and self._timer is None:
                    self._soon(FLUSH_SECONDS)
        if lost > 0:
            _log.warning("%d lines were not kept: %s", lost, error)

    def close(self) -> None:
        """Write what waits, or lose it."""
        self._closed = True
        self.flush()

    def after_fork(self) -> None:
        """In a child: the parent writes what waits; its timer does not run here, and its lock may be held."""
        self._lock, self._writing = threading.Lock(), threading.Lock()
        self._lines, self._timer = [], None

    def _soon(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self.flush)
        self._timer.daemon = True
        self._timer.start()

    def _taken(self) -> list[Line]:
        with self._lock:
            lines, self._lines = self._lines, []
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        return lines

    def _write(self, lines: list[Line]) -> StoreError | None:
        """The error, if it may go better later."""
        try:
            self._keep(lines)
        except StoreError as error:
            if str(error) != self._trouble:  # said once, and not at every attempt
                _log.info("%d lines wait: %s", len(lines), error)
            self._trouble = str(error)
            return error
        except AgentMemoryError as error:
            _log.warning("%d lines were not kept: %s", len(lines), error)
        self._trouble = ""
        return None
