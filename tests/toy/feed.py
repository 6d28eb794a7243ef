"""The feed: lines, cursors and leases, by the ledger's rules."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tests.toy.shop import Port, Shop

from agent_memory.ledger import feed as rules
from agent_memory.ledger.feed import JobRow, Standing
from agent_memory.ledger.journal import (
    NAMES,
)
from agent_memory.ledger.rows import CursorRow
from agent_memory.models.record import Scope
from agent_memory.ports.feed import Cursor, FeedLine, JobState, Lease, Run, Work


class ToyFeed(Port):
    def news(self, name: str, *, limit: int = 100) -> list[str]:
        turns = [tenant for job, tenant in self.shop.cursors if job == name and self.cursor(job, tenant).seq]
        waiting = [one for one in sorted(self.shop.tenants) if self.lines(self.cursor(name, one), limit=1)]
        return [*(one for one in waiting if one not in turns), *(one for one in turns if one in waiting)][:limit]

    def lines(self, after: Cursor, *, limit: int = 100) -> list[FeedLine]:
        tables = self.shop.of(after.tenant)
        begin = rules.standing(after, _stands(self.shop, after)).seq
        ids = {row.place.record: row.place.id for row in (*tables.tombstones, *tables.versions.values())}
        kinds = {row.place.record: row.kind for row in tables.versions.values()}
        return [
            FeedLine(
                *(line.seq, line.at, NAMES[line.operation], line.scope or Scope()),
                *(kinds.get(line.record or 0), ids.get(line.record or 0), line.chain.hex()),
            )
            for line in tables.lines[begin : begin + limit]
        ]

    def cursor(self, name: str, tenant: str) -> Cursor:
        return _cursor(self.shop, name, tenant)

    def behind(self, name: str) -> int:
        return sum(len(one.lines) - self.cursor(name, tenant).seq for tenant, one in self.shop.tenants.items())

    def lease(self, name: str, holder: str, seconds: float, *, every: float = 0.0) -> Lease | None:
        with self.base.writing() as shop:
            row = rules.taken(shop.jobs.get(name, JobRow(name)), holder, seconds, every, _now())
            shop.jobs |= {name: row} if row else {}
        return row.lease() if row else None

    def renew(self, lease: Lease, seconds: float) -> None:
        with self.base.writing() as shop:
            shop.jobs[lease.name] = rules.renewed(shop.jobs.get(lease.name), lease, seconds, _now())

    def release(self, lease: Lease, run: Run | None = None) -> None:
        with self.base.writing() as shop:
            row = shop.jobs.get(lease.name)
            if row is not None and rules.holds(lease, row):
                shop.jobs[lease.name] = rules.released(row, run, _now())

    def advance(self, work: Work) -> None:
        with self.base.writing() as shop:
            go_on(shop, work)

    def states(self) -> list[JobState]:
        return [row.state(_now()) for _, row in sorted(self.shop.jobs.items())]


def _now() -> int:
    return time.time_ns() // 1000


def _stands(shop: Shop, cursor: Cursor) -> bool:
    lines = shop.of(cursor.tenant).lines[: cursor.seq]
    return cursor.seq == 0 or (len(lines) == cursor.seq and lines[-1].chain.hex() == cursor.chain)


def _cursor(shop: Shop, name: str, tenant: str) -> Cursor:
    cursor = shop.cursors.get((name, tenant), Cursor(tenant))
    return rules.standing(cursor, _stands(shop, cursor))


def standing_of(shop: Shop, work: Work) -> Standing:
    job = shop.jobs.get(work.lease.name)
    if work.to is None:
        return Standing(job)
    return Standing(job, _cursor(shop, work.lease.name, work.to.tenant), _stands(shop, work.to))


def go_on(shop: Shop, work: Work) -> None:
    rules.check(work, standing_of(shop, work))
    move(shop, [CursorRow(work.lease.name, work.to)] if work.to else [])


def move(shop: Shop, rows: Iterable[CursorRow]) -> None:
    for job, cursor in rows:
        shop.cursors.pop((job, cursor.tenant), None)
        shop.cursors[job, cursor.tenant] = cursor
