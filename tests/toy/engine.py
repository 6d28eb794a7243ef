"""A second engine on the ledger, as small as it can be: rows in memory, one lock, a copy of the tables for each write.

What takes part in a write, a fault can strike: `fails` is called before each step of it, and after the last. Desks,
namespaces, debts and spending, in which the ledger has no part, are the reference engine's, on the toy's tables.
"""

from __future__ import annotations

from tests.toy.beside import ToyAccess, ToyReceipts
from tests.toy.feed import ToyFeed, ToyJobs
from tests.toy.records import ToyIndex, ToyRecords
from tests.toy.shipping import ToyShipping
from tests.toy.shop import Base, Fails, Shop
from tests.toy.tenants import ToyTenants

from agent_memory.ports.store import Store
from agent_memory.testing.memory.beside import MemoryDebts, MemoryWorking
from agent_memory.testing.memory.reading import MemoryReading
from agent_memory.testing.memory.spending import MemorySpending
from agent_memory.testing.memory.vectors import MemoryVectors


def open_toy(fails: Fails = lambda step: None) -> Store:
    base = Base(fails)
    return Store(
        url="toy://",
        records=ToyRecords(base),
        index=ToyIndex(base),
        working=MemoryWorking(base),
        receipts=ToyReceipts(base),
        vectors=MemoryVectors(base, lambda shop, work: ToyJobs(shop).go_on(work)),
        access=ToyAccess(base),
        feed=ToyFeed(base),
        tenants=ToyTenants(base),
        debts=MemoryDebts(base),
        shipping=ToyShipping(base),
        spending=MemorySpending(base),
        reading=MemoryReading(base, _records),
        close=lambda: None,
        vocabularies=lambda: (base.shop.vocabulary,) if base.shop.vocabulary else (),
    )


def _records(shop: Shop, tenant: str) -> set[str] | None:
    tables = shop.tenants.get(tenant)
    return {row.place.id for row in tables.versions.values()} if tables and tables.lines else None
