"""A second engine on the ledger, as small as it can be: rows in memory, one lock, a copy of the tables for each write.

What takes part in a write, a fault can strike: `fails` is called before each step of it, and after the last.
"""

from __future__ import annotations

from tests.toy.beside import ToyAccess, ToyDebts, ToyReceipts, ToyTenants, ToyVectors, ToyWorking
from tests.toy.feed import ToyFeed
from tests.toy.records import ToyIndex, ToyRecords
from tests.toy.shop import Base, Fails

from agent_memory.ports.store import Store


def open_toy(fails: Fails = lambda step: None) -> Store:
    base = Base(fails)
    return Store(
        url="toy://",
        records=ToyRecords(base),
        index=ToyIndex(base),
        working=ToyWorking(base),
        receipts=ToyReceipts(base),
        vectors=ToyVectors(base),
        access=ToyAccess(base),
        feed=ToyFeed(base),
        tenants=ToyTenants(base),
        debts=ToyDebts(base),
        close=lambda: None,
        vocabularies=lambda: (base.shop.vocabulary,) if base.shop.vocabulary else (),
    )
