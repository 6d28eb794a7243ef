"""Receipts off the hot path: a read only appends to a list; a second later, at the latest, it is in the store."""

from __future__ import annotations

import logging
import threading

from agent_memory.models.errors import AgentMemoryError
from agent_memory.ports.receipts import ReceiptLine, ReceiptStore

FLUSH_SECONDS = 1.0
FLUSH_LINES = 200
_log = logging.getLogger(__name__)


class ReceiptBook:
    """Collects receipts and writes them in batches. A receipt that cannot be written is logged, never raised."""

    def __init__(self, store: ReceiptStore) -> None:
        self._store = store
        self._lines: list[ReceiptLine] = []
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    def add(self, line: ReceiptLine) -> None:
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
                self._store.keep(lines)
            except AgentMemoryError as error:
                _log.warning("%d receipts were not kept: %s", len(lines), error)

    def after_fork(self) -> None:
        """In a child: the parent writes what waits; its timer does not run here, and its lock may be held."""
        self._lock = threading.Lock()
        self._lines, self._timer = [], None
