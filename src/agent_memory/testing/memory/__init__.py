"""The reference engine: every store port on plain dicts, slow and obviously right.

The other engines are compared with it, by random operations, in `agent_memory.testing.agreement`. Nothing is
indexed, cached or kept: each read looks at all rows.
"""

from __future__ import annotations

from agent_memory.ports.store import Store
from agent_memory.testing.memory import reading
from agent_memory.testing.memory.access import MemoryAccess
from agent_memory.testing.memory.beside import MemoryDebts, MemoryReceipts, MemoryWorking
from agent_memory.testing.memory.feed import MemoryFeed
from agent_memory.testing.memory.index import ToyIndex
from agent_memory.testing.memory.reading import MemoryReading
from agent_memory.testing.memory.records import MemoryRecords
from agent_memory.testing.memory.spending import MemorySpending
from agent_memory.testing.memory.tenants import MemoryTenants
from agent_memory.testing.memory.vectors import MemoryVectors
from agent_memory.testing.memory.world import ToyRoom


def open_store() -> Store:
    """A new, empty store that lives as long as this process."""
    room = ToyRoom()
    return Store(
        url="memory://",
        records=MemoryRecords(room),
        index=ToyIndex(room),
        working=MemoryWorking(room),
        receipts=MemoryReceipts(room),
        vectors=MemoryVectors(room),
        access=MemoryAccess(room),
        feed=MemoryFeed(room),
        tenants=MemoryTenants(room),
        close=room.close,
        after_fork=room.after_fork,
        debts=MemoryDebts(room),
        spending=MemorySpending(room),
        reading=MemoryReading(room, reading.records),
        vocabularies=room.vocabularies,
    )
