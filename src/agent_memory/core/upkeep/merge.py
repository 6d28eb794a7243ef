"""The job that merges: when nobody is about, and at most once an hour. E7.

Nobody is about where the tenant has no journal line and no receipt of the last five minutes; where very much was
written since the last time, it is not waited for that."""

from __future__ import annotations

import time
from collections.abc import Iterator

from agent_memory.core.upkeep.job import SLICE, Did, JobTurn, Keeping
from agent_memory.core.upkeep.merging import Merging, merged_in
from agent_memory.ledger.journal import AMEND, EMBED, PUT
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Scope
from agent_memory.ports.feed import Cursor, JobState, Work

JOB = "merge"
MINUTE = 60_000_000  # microseconds
IDLE, HOUR = 5 * MINUTE, 60 * MINUTE
PLENTY = 5000  # lines; with more the job is due although somebody is about
LONGEST = 60.0  # seconds that other jobs of this worker wait for it
TENANTS = 100  # that are looked at in one go


def merge(keeping: Keeping, turn: JobTurn) -> Did:
    """Scopes in which something was written since the last run; a scope that is not done in time is begun again."""
    did = {"merged": 0, "into": 0, "left": 0}
    until = None if turn.seconds is None else time.monotonic() + LONGEST
    for tenant in _due(keeping, turn):
        since = keeping.store.feed.cursor(JOB, tenant)
        scopes, to = _changed(keeping, since)
        merging = Merging(keeping.store, keeping.writing, turn.now, Work(turn.lease))
        for made in (made for scope in scopes for made in merged_in(merging, scope)):
            did["merged"] += sum(len(one.sources) for one in made)
            did["into"] += len(made)
            if until is not None and time.monotonic() > until:
                return {**did, "left": 1}
        keeping.store.feed.advance(Work(turn.lease, since, to))
    return did


def waiting(keeping: Keeping) -> int:
    """Lines that were not looked at yet, when it is time; nothing while it is not."""
    feed = keeping.store.feed
    last = next((one for one in feed.states() if one.name == JOB), JobState(JOB))
    if last.did.get("left"):
        return max(1, feed.behind(JOB))
    now = to_micros(keeping.clock.now())
    if last.ran_at is not None and 0 <= now - last.ran_at < HOUR:
        return 0
    behind = feed.behind(JOB)
    if behind <= PLENTY and not any(_idle(keeping, one, now) for one in feed.news(JOB, limit=TENANTS)):
        return 0
    return behind


def _due(keeping: Keeping, turn: JobTurn) -> Iterator[str]:
    """Tenants with news. Who asks for it, and waits, means all of them."""
    feed, done = keeping.store.feed, set[str]()
    busy = turn.seconds is None or feed.behind(JOB) > PLENTY
    while tenants := [one for one in feed.news(JOB, limit=TENANTS) if one not in done]:
        for tenant in tenants:
            done.add(tenant)
            if busy or _idle(keeping, tenant, turn.now):
                yield tenant


def _idle(keeping: Keeping, tenant: str, now: int) -> bool:
    keeping.writing.receipts.flush()
    records, receipts = keeping.store.records, keeping.store.receipts
    quiet = records.seq_at(tenant, now - IDLE) == records.seq_at(tenant, now)
    return quiet and not receipts.since(tenant, now - IDLE, 1)


def _changed(keeping: Keeping, since: Cursor) -> tuple[list[Scope], Cursor]:
    """Where something was written that may be merged, and the last line."""
    kinds = {name for name, kind in keeping.writing.kinds.items() if kind.merges}
    scopes, to = dict[Scope, None](), since
    while lines := keeping.store.feed.lines(to, limit=SLICE):
        scopes |= {one.scope: None for one in lines if _concerns(one.operation, one.kind, kinds)}
        to = lines[-1].cursor
    return [*scopes], to


def _concerns(operation: str, kind: str | None, kinds: set[str]) -> bool:
    return operation == EMBED or (operation in (PUT, AMEND) and kind in kinds)
