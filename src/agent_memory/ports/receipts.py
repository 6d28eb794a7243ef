"""Receipts: what a read left behind. Flushed off the hot path; they never fail a read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent_memory.ports.records import View


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """One receipt: `body` is JSON; `handles` are the versions that were shown, and count as accessed."""

    id: str
    view: View
    seq: int
    body: str
    handles: tuple[int, ...]


class ReceiptStore(Protocol):
    def keep(self, lines: Sequence[ReceiptLine]) -> None: ...

    def receipt(self, view: View, id: str) -> str | None:
        """The body; None when there is none for this reader, or its retention is over."""
        ...

    def accesses(self, view: View, ids: Sequence[str]) -> Mapping[str, tuple[int, int]]:
        """How often and when last each record was recalled: id -> (count, microseconds)."""
        ...
