"""Who read and changed what: the access log and the journal, told together."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from agent_memory.models.audit import AuditLine
from agent_memory.models.moment import from_micros
from agent_memory.ports.feed import Cursor, FeedLine
from agent_memory.ports.reading import ReadLine, ReadsWanted
from agent_memory.ports.records import View
from agent_memory.ports.store import Store

PAGE = 1000


class Auditing(NamedTuple):
    """Of one tenant: all of its users."""

    store: Store
    tenant: str
    now: int

    def lines(self, wanted: ReadsWanted, limit: int) -> list[AuditLine]:
        """The newest first."""
        log = self.store.reading
        reads = [_read(one) for one in log.lines(self.tenant, wanted, limit)] if log is not None else []
        changes = [] if wanted.key is not None else [*self._changes(wanted, limit)]
        return heapq.nlargest(limit, [*reads, *changes], key=lambda one: one.at)

    def _changes(self, wanted: ReadsWanted, limit: int) -> Iterator[AuditLine]:
        found = (line for line in self._feed(wanted.since) if line.id and wanted.id in (None, line.id))
        for line in deque((one for one in found if wanted.user in (None, one.scope.user)), maxlen=limit):
            told = self.store.records.journal(View(line.scope, self.now), after=line.seq - 1, limit=1)
            reason = told[0].reason if told and told[0].seq == line.seq else None
            yield AuditLine(
                at=from_micros(line.at),
                did="changed",
                operation=line.operation,
                user=line.scope.user,
                agent=line.scope.agent,
                ids=[line.id] if line.id else [],
                shown=1,
                why=reason,
            )

    def _feed(self, since: int) -> Iterator[FeedLine]:
        after = Cursor(self.tenant)
        while found := self.store.feed.lines(after, limit=PAGE):
            yield from (line for line in found if line.at >= since)
            after = found[-1].cursor


def _read(line: ReadLine) -> AuditLine:
    return AuditLine(
        at=from_micros(line.at),
        did="read",
        operation=line.operation,
        user=line.user,
        agent=line.agent,
        key=line.key,
        door=line.door,
        ids=list(line.ids),
        shown=line.shown,
        why=line.why,
        milliseconds=line.micros / 1000,
        tokens=line.tokens,
        money=line.money,
        receipt_id=line.receipt,
    )
