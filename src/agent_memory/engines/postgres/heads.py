"""The head of a tenant's journal and of the store's, and whether both are still those that this process read before."""

from __future__ import annotations

from typing import NamedTuple

from agent_memory.engines.postgres.connection import Session
from agent_memory.ledger.marks import Marks


class Heads(NamedTuple):
    """`adopted` and `era` are those of a `Snapshot`."""

    seq: int
    store: int
    adopted: int
    era: int


class Glance:
    """Sent when it is made, with whatever else is asked; `heads` reads the answer, also after the transaction."""

    def __init__(self, session: Session, tenant: str, marks: Marks) -> None:
        self._tenant = tenant
        self._marks = marks
        self._held, self._store_held = marks.held(tenant), marks.held(None)
        self._asked = session.send("heads", {"held": self._held.seq, "store_held": self._store_held.seq})

    def heads(self) -> Heads:
        seq, chain, store, store_chain, adopted, there, store_there = self._asked.fetchone() or _NOTHING
        mine = self._marks.seen(self._tenant, self._held, there, seq, chain)
        stores = self._marks.seen(None, self._store_held, store_there, store, store_chain)
        return Heads(seq, store, adopted, max(mine, stores))


_NOTHING = (0, b"", 0, b"", 0, None, None)
