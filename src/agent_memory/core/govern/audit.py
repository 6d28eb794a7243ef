"""Who read and changed what: the access log and the journal, told together."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent_memory.models.audit import AuditLine
from agent_memory.models.moment import from_micros
from agent_memory.models.record import SHARED, JournalLine
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
        lines = (one for page in self._pages(wanted) for one in self._of_user(page, wanted.user))
        for line in deque(lines, maxlen=limit):
            told = self._told([line]).get(line.seq)
            yield AuditLine(
                at=from_micros(line.at),
                did="changed",
                operation=line.operation,
                user=told.actor if told else line.scope.user,
                agent=line.scope.agent,
                ids=[line.id] if line.id else [],
                shown=1,
                why=told.reason if told else None,
            )

    def _pages(self, wanted: ReadsWanted) -> Iterator[list[FeedLine]]:
        after = Cursor(self.tenant)
        while found := self.store.feed.lines(after, limit=PAGE):
            yield [one for one in found if one.at >= wanted.since and one.id and wanted.id in (None, one.id)]
            after = found[-1].cursor

    def _of_user(self, lines: Sequence[FeedLine], user: str | None) -> Iterator[FeedLine]:
        """What happened in a user's memory, and what this user changed of what all share."""
        shared = [] if user is None else [one for one in lines if one.scope.user == SHARED]
        told = self._told(shared)
        for line in lines:
            if user in (None, line.scope.user) or (line.seq in told and told[line.seq].actor == user):
                yield line

    def _told(self, lines: Sequence[FeedLine]) -> dict[int, JournalLine]:
        """What the journal tells of them, by their numbers."""
        told: dict[int, JournalLine] = {}
        for scope in {one.scope for one in lines}:
            of_it = [one.seq for one in lines if one.scope == scope]
            span = of_it[-1] - of_it[0] + 1
            found = self.store.records.journal(View(scope, self.now), after=of_it[0] - 1, limit=span)
            told |= {one.seq: one for one in found}
        return told


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
