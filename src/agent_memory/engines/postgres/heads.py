"""The head of a tenant's journal and of the store's, and whether both are still those that this process read before."""

from __future__ import annotations

from typing import Any, NamedTuple

from agent_memory.engines.postgres.connection import PostgresSession
from agent_memory.ledger.marks import Marks


class JournalHeads(NamedTuple):
    """`adopted`, `era` and `lag` are those of a `Snapshot`."""

    seq: int
    store: int
    adopted: int
    era: int
    lag: float | None


class Glance:
    """Sent when it is made, with whatever else is asked, and read also after the transaction. `genesis` is where the
    journal of the store begins, when a `replica` is asked."""

    def __init__(self, session: PostgresSession, tenant: str, marks: Marks, genesis: bytes | None = None) -> None:
        self._tenant = tenant
        self._marks = marks
        self._genesis = genesis
        self._held, self._store_held = session.held
        self._heads = session.send("heads", {"held": self._held.seq, "store_held": self._store_held.seq})
        self._replica = None if genesis is None else session.send("replica")
        self._row: tuple[Any, ...] | None = None
        self._lag: float | None = None

    def _found(self) -> tuple[Any, ...]:
        """Read once, by whoever asks first."""
        self._row = self._row or self._heads.fetchone() or (0, b"", 0, b"", 0, None, None)
        return self._row

    def near(self, longest: float) -> bool:
        """Whether a replica is a copy of the store, and not too many seconds behind."""
        genesis, self._lag = (self._replica and self._replica.fetchone()) or (None, None)
        return genesis == self._genesis and self._lag is not None and self._lag <= longest

    def fresh(self) -> bool:
        """Whether a replica has all that this process has seen and written."""
        seq, _, store, _, _, there, store_there = self._found()
        return (
            self._held.stands(there)
            and seq >= self._held.least
            and self._store_held.stands(store_there)
            and store >= self._store_held.least
        )

    def heads(self) -> JournalHeads:
        seq, chain, store, store_chain, adopted, there, store_there = self._found()
        mine = self._marks.seen(self._tenant, self._held, there, seq, chain)
        stores = self._marks.seen(None, self._store_held, store_there, store, store_chain)
        return JournalHeads(seq, store, adopted, max(mine, stores), self._lag)
