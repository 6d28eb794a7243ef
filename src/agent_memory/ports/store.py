"""All that one engine offers for storage, under one roof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent_memory.ports.index import Index
from agent_memory.ports.receipts import ReceiptStore
from agent_memory.ports.records import RecordStore
from agent_memory.ports.vectors import VectorStore
from agent_memory.ports.working import WorkingStore


@dataclass(frozen=True)
class Store:
    """`url` says where it is, without secrets."""

    url: str
    records: RecordStore
    index: Index
    working: WorkingStore
    receipts: ReceiptStore
    vectors: VectorStore
    close: Callable[[], None]
