"""The feed: lines, cursors and leases, by the ledger's rules."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.toy.shop import Port, Shop

from agent_memory.ledger.feed import JobRow
from agent_memory.ledger.jobs import Jobs, Leases
from agent_memory.ledger.journal import NAMES
from agent_memory.ledger.rows import CursorRow
from agent_memory.models.record import Scope
from agent_memory.ports.feed import Cursor, FeedLine, JobState


class ToyJobs(Jobs):
    def __init__(self, shop: Shop) -> None:
        self.shop = shop

    def now(self) -> int:
        return time.time_ns() // 1000

    def job(self, name: str) -> JobRow | None:
        return self.shop.jobs.get(name)

    def put(self, row: JobRow) -> None:
        self.shop.jobs[row.name] = row

    def drop(self, name: str) -> None:
        self.shop.jobs.pop(name)

    def stored(self, name: str, tenant: str) -> Cursor:
        return self.shop.cursors.get((name, tenant), Cursor(tenant))

    def stands(self, cursor: Cursor) -> bool:
        lines = self.shop.of(cursor.tenant).lines[: cursor.seq]
        return cursor.seq == 0 or (len(lines) == cursor.seq and lines[-1].chain.hex() == cursor.chain)

    def move(self, row: CursorRow) -> None:
        self.shop.cursors.pop((row.job, row.cursor.tenant), None)
        self.shop.cursors[row.job, row.cursor.tenant] = row.cursor


class ToyFeed(Port, Leases):
    def news(self, name: str, *, limit: int = 100) -> list[str]:
        turns = [tenant for job, tenant in self.shop.cursors if job == name and self.cursor(job, tenant).seq]
        waiting = [one for one in sorted(self.shop.tenants) if self.lines(self.cursor(name, one), limit=1)]
        return [*(one for one in waiting if one not in turns), *(one for one in turns if one in waiting)][:limit]

    def lines(self, after: Cursor, *, limit: int = 100) -> list[FeedLine]:
        tables, begin = self.shop.of(after.tenant), ToyJobs(self.shop).beginning(after).seq
        ids = {row.place.record: row.place.id for row in (*tables.tombstones, *tables.versions.values())}
        kinds = {row.place.record: row.kind for row in tables.versions.values()}
        return [
            FeedLine(
                *(line.seq, line.at, NAMES[line.operation], line.scope or Scope()),
                *(kinds.get(line.record or 0), ids.get(line.record or 0), line.chain.hex()),
            )
            for line in tables.lines[begin : begin + limit]
        ]

    def behind(self, name: str) -> int:
        return sum(len(one.lines) - self.cursor(name, tenant).seq for tenant, one in self.shop.tenants.items())

    def states(self) -> list[JobState]:
        return [row.state(ToyJobs(self.shop).now()) for _, row in sorted(self.shop.jobs.items())]

    @contextmanager
    def _reading(self) -> Iterator[ToyJobs]:
        yield ToyJobs(self.shop)

    @contextmanager
    def _writing(self) -> Iterator[ToyJobs]:
        with self.base.writing() as shop:
            yield ToyJobs(shop)
