"""Vectors in namespaces, here and in a store elsewhere: a change is committed here, and told there at once or later.

The mirror has everything, so a store that is away costs nobody an answer or a write. What it misses is noted in the
transaction that changes a vector; it is told under a lease, one after the other, so that what is old never arrives
after what is new. Whoever is killed in between leaves it noted, and telling twice is harmless.
"""

from __future__ import annotations

import os
import platform
import secrets
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from agent_memory.core.govern.book import Book
from agent_memory.core.write.debts import shown
from agent_memory.core.write.reach import ANSWER_SECONDS
from agent_memory.models.errors import AgentMemoryError, InvalidInput, LeaseLost, PartMissing, StoreError
from agent_memory.ports import spans
from agent_memory.ports.feed import Work
from agent_memory.ports.store import Elsewhere, Store
from agent_memory.ports.vectors import Match, Missed, Scored

JOB = "vectors"
SLICE = 100  # vectors that are told before it is noted
LEASE_SECONDS = 15.0
AT_ONCE_SECONDS = 1.0  # of telling, beside whoever wrote; the rest is left to the job
_log = spans.log(__name__)

Source = Literal["store", "mirror"]
"""Who answered: the vector store, or the mirror of it here."""


class MirrorAnswer(NamedTuple):
    """`trouble`: why the vector store did not answer, where there is one."""

    matches: list[Match]
    source: Source
    trouble: str | None = None


class Mirroring:
    """The mirror of a store, and the vector store that it is a mirror of, if there is one."""

    def __init__(self, store: Store) -> None:
        self._mirror, self._feed, self._debts = store.vectors, store.feed, store.debts
        self._place: str = ""
        self._elsewhere: Elsewhere | None = None
        if store.vector_store is not None:
            self._place, self._elsewhere = store.vector_store
        self._read_only = store.read_only
        self._telling: threading.Thread | None = None
        self._said: str | None = None
        self.scores = Book[Scored](store.vectors.scored)

    @property
    def left(self) -> int:
        """How many vectors the store has not been told, if it can be told from here."""
        return sum(one.vectors for one in self._mirror.lags() if one.place == self._place)

    def upsert(
        self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any], model: str | None = None
    ) -> None:
        self._mirror.upsert(namespace, id, vector, metadata, model)
        self.tell_soon()

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        gone = self._mirror.delete(namespace, ids)
        self.tell_soon()
        return gone

    def query(self, namespace: str, vector: Sequence[float], k: int, where: Mapping[str, Any] | None) -> MirrorAnswer:
        """From the vector store, as long as it is there and knows everything; else from the mirror, which says why."""
        trouble = None
        if self._elsewhere is not None:
            try:
                if not self._mirror.lags_in(self._place, namespace):
                    return MirrorAnswer(self._elsewhere.query(namespace, vector, k, where), "store")
                trouble = f"{self._place} has not been told everything yet"
            except PartMissing as error:
                trouble = f"{self._place}: {error.message}"
        return MirrorAnswer(self._mirror.query(namespace, vector, k, where), "mirror", trouble)

    def score(self, namespace: str, matches: Iterable[Match], now: int) -> None:
        """Keep these scores in the mirror, as the last ones; a second later, at the latest."""
        if not self._read_only:
            for one in matches:
                self.scores.add(Scored(namespace, one.id, one.score, now))

    def tell_soon(self) -> None:
        """In a thread of its own, for which nobody waits for long; what is left is the job's."""
        if self._elsewhere is None:
            return
        if (trouble := self._elsewhere.trouble) is not None:
            self._failed(trouble)
            return
        deadline = time.monotonic() + ANSWER_SECONDS
        if (busy := self._telling) is not None:
            busy.join(ANSWER_SECONDS)
        if busy is None or not busy.is_alive():
            self._telling = mine = threading.Thread(target=self._tell_now, name="agent-memory-vectors", daemon=True)
            mine.start()
            mine.join(max(0.0, deadline - time.monotonic()))

    def _tell_now(self) -> None:
        holder = f"{platform.node()}:{os.getpid()}:{secrets.token_hex(4)}"
        with suppress(AgentMemoryError):  # it is noted, and told later
            lease = self._feed.lease(JOB, holder, LEASE_SECONDS)
            if lease is None:
                return
            try:
                self.tell(Work(lease), AT_ONCE_SECONDS)
            finally:
                self._feed.release(lease)

    def retry(self) -> None:
        """Somebody waits for it: the vector store is asked again, pause or not."""
        if self._elsewhere is not None:
            self._elsewhere.retry()

    def catch_up(self, work: Work, seconds: float | None) -> dict[str, int]:
        """For the job: whoever has no end in mind (None) asks also in a pause."""
        if self._elsewhere is None:
            return {"vectors": 0, "behind": 0}
        if seconds is None:
            self.retry()
        return {"vectors": self.tell(work, seconds), "behind": self.left}

    def tell(self, work: Work, seconds: float | None) -> int:
        """The vector store what it missed, oldest first, for so long; how many vectors that were. `PartMissing` while
        it is away."""
        vectors = after = 0
        deadline = None if seconds is None else time.monotonic() + seconds
        while rows := self._mirror.missed(self._place, after, SLICE):
            after = rows[-1].number
            told, trouble = self._told(rows, deadline)
            if told:
                self._note(told, work)
                vectors += len(told)
            if trouble is not None:
                self._failed(shown(trouble))
                if isinstance(trouble, PartMissing):
                    raise PartMissing(f"{self._place}: {trouble.message}", hint="see that it is in reach")
            if deadline is not None and time.monotonic() > deadline:
                break
        return vectors

    def _told(self, rows: Sequence[Missed], deadline: float | None) -> tuple[list[Missed], AgentMemoryError | None]:
        """Those that it was told, and what went wrong last. What it refuses keeps no other waiting."""
        told: list[Missed] = []
        trouble: AgentMemoryError | None = None
        for one in rows:
            try:
                self._tell_one(one)
                told.append(one)
            except InvalidInput as error:
                trouble = error
            except PartMissing as error:
                return told, error
            if deadline is not None and time.monotonic() > deadline:
                break
        return told, trouble

    def _tell_one(self, one: Missed) -> None:
        assert self._elsewhere is not None
        if one.vector is None:
            self._elsewhere.delete(one.namespace, [one.id])
        else:
            self._elsewhere.upsert(one.namespace, one.id, one.vector, one.metadata)

    def _note(self, told: Sequence[Missed], work: Work) -> None:
        """Whoever lost the lease meanwhile may have told something old after somebody else told something new."""
        try:
            self._mirror.told(self._place, told, work)
            self._said = None
        except LeaseLost:
            self._mirror.untold(self._place, told)
            raise

    def _failed(self, trouble: str) -> None:
        """Shown with the place, and said once."""
        if self._debts is not None and trouble != self._said:
            self._said = trouble
            with suppress(StoreError):
                self._debts.failed(self._place, trouble)
            _log.warning("%s misses vectors, which it is told later: %s", self._place, trouble)

    def close(self) -> None:
        self.scores.close()
        if self._telling is not None:
            self._telling.join(ANSWER_SECONDS)

    def after_fork(self) -> None:
        """In a child: the parent goes on with what it was telling."""
        self.scores.after_fork()
        self._telling = None
