"""What is erased leaves the memory of a process that nobody asks, too.

A question brings the shelves that it needs up to date. Those that nobody asks for would keep what another process has
erased, so a thread looks every other second, as long as there are shelves: one question for all tenants that have some,
which writes nothing. It reads on where something was erased, and drops what is not the store's any more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

from agent_memory.ledger.marks import LastSeen
from agent_memory.models.errors import AgentMemoryError
from agent_memory.models.record import Scope

EVERY_SECONDS = 2.0


class Since(NamedTuple):
    """What became of a tenant since a line: its last one, with the value of the chain there and, now, at that line; and
    the scopes in which something was `erased`."""

    seq: int
    chain: bytes
    there: object
    erased: Collection[Scope]


Watch = Callable[[Mapping[str, int]], Mapping[str, Since]]
"""Tenants, each with a line -> what became of them since, where they still are. One trip."""


class FollowedShelves(Protocol):
    """The shelves of a process."""

    def filled(self) -> Mapping[str, int]:
        """Tenants that have shelves, each with the line up to which all of them have been read."""
        ...

    def drop(self, tenant: str) -> None: ...

    def refresh(self, scopes: Collection[Scope]) -> None:
        """Read on, in those of one tenant that there are."""
        ...


class Following:
    """Safe to begin again and again. After a failure the next look asks from the same line on."""

    def __init__(self, shelves: FollowedShelves, watch: Watch) -> None:
        self._shelves = shelves
        self._watch = watch
        self.renew()

    def renew(self) -> None:
        """Also in a child, where the thread is not."""
        self._guard = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._seen: dict[str, LastSeen] = {}

    def begin(self) -> None:
        with self._guard:
            if self._thread is None and not self._stopping.is_set():
                thread = threading.Thread(target=self._work, name="agent-memory-erasures", daemon=True)
                thread.start()
                self._thread = thread

    def stop(self, seconds: float = 1.0) -> None:
        """For good."""
        self._stopping.set()
        with self._guard:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def _work(self) -> None:
        stopping, guard = self._stopping, self._guard
        try:
            while not stopping.wait(EVERY_SECONDS):
                with guard:
                    if not self._shelves.filled():
                        self._thread = None
                        return
                with suppress(AgentMemoryError):  # whoever asks something meets it, too, and tells
                    self.look()
        finally:
            with guard:
                if self._thread is threading.current_thread():  # not another that was begun since
                    self._thread = None

    def look(self) -> None:
        filled = self._shelves.filled()
        self._seen = {tenant: self._seen.get(tenant, LastSeen(seq)) for tenant, seq in filled.items()}
        found = self._watch({tenant: held.seq for tenant, held in self._seen.items()}) if self._seen else {}
        for tenant, held in [*self._seen.items()]:
            now = found.get(tenant)
            if now is None or now.seq < held.seq or (held.chain and not held.stands(now.there)):
                self._shelves.drop(tenant)
                del self._seen[tenant]
                continue
            with suppress(AgentMemoryError):  # the others are not to wait for this one
                if now.erased:
                    self._shelves.refresh(now.erased)
                self._seen[tenant] = LastSeen(now.seq, now.chain)
