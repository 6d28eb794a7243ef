"""The `Feed` port on plain dicts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from agent_memory.models.errors import Changed, LeaseLost
from agent_memory.ports.feed import Cursor, FeedLine, JobOutcome, JobState, Lease, Work
from agent_memory.testing.memory.world import Duty, ToyLine, ToyRoom, Worlds


class MemoryFeed:
    def __init__(self, room: ToyRoom) -> None:
        self._room = room

    def news(self, name: str, *, limit: int = 100) -> list[str]:
        with self._room.reading() as world:
            turns = [tenant for job, tenant in world.cursors if job == name and _cursor(world, job, tenant).seq]
            waiting = {tenant for tenant, _ in _unread(world, name)}
            first = sorted(waiting - set(turns))
            return [*first, *(tenant for tenant in turns if tenant in waiting)][:limit]

    def lines(self, after: Cursor, *, limit: int = 100) -> list[FeedLine]:
        with self._room.reading() as world:
            begin = after.seq if _stands(world, after) else 0
            return [_told(world, line) for line in _lines(world, after.tenant) if line.seq > begin][:limit]

    def cursor(self, name: str, tenant: str) -> Cursor:
        with self._room.reading() as world:
            return _cursor(world, name, tenant)

    def behind(self, name: str) -> int:
        with self._room.reading() as world:
            return sum(1 for _ in _unread(world, name))

    def lease(self, name: str, holder: str, seconds: float, *, every: float = 0.0) -> Lease | None:
        with self._room.writing() as world:
            duty, now = world.duties.get(name, Duty()), _now()
            if _is_held(duty):
                return None
            if duty.ran and duty.ran[0] <= now < duty.ran[0] + every * 1e6:
                return None
            lease = Lease(name, holder, duty.tokens + 1)
            world.duties[name] = replace(duty, lease=lease, good=_good(seconds), tokens=lease.token)
            return lease

    def renew(self, lease: Lease, seconds: float) -> None:
        with self._room.writing() as world:
            world.duties[lease.name] = replace(_held(world, lease), good=_good(seconds))

    def release(self, lease: Lease, run: JobOutcome | None = None, *, forget: bool = False) -> None:
        with self._room.writing() as world:
            duty = world.duties.get(lease.name, Duty())
            if duty.lease != lease:
                return
            if forget:
                del world.duties[lease.name]
                return
            now = _now()
            ran = duty.ran if run is None else (now, run)
            failed = duty.failed if run is None or run.error is None else (now, run.error)
            world.duties[lease.name] = Duty(None, None, duty.tokens, ran, failed)

    def advance(self, work: Work) -> None:
        with self._room.writing() as world:
            go_on(world, work)

    def states(self) -> list[JobState]:
        with self._room.reading() as world:
            return [_state(name, duty) for name, duty in sorted(world.duties.items())]


def go_on(world: Worlds, work: Work) -> None:
    """Whoever calls it throws the world away when it raises."""
    _held(world, work.lease)
    if work.to is None:
        return
    place = (work.lease.name, work.to.tenant)
    if _cursor(world, *place) != work.since or not _stands(world, work.to):
        raise Changed(f"{place}: the cursor or the journal is another", hint="read again")
    world.cursors.pop(place, None)
    world.cursors[place] = work.to


def _held(world: Worlds, lease: Lease) -> Duty:
    duty = world.duties.get(lease.name, Duty())
    if duty.lease != lease:
        raise LeaseLost(f"{lease.name}: another worker has it", hint="nothing was written")
    return duty


def _is_held(duty: Duty) -> bool:
    return duty.good is not None and duty.good[0] <= _now() < duty.good[1]


def _now() -> int:
    return time.time_ns() // 1000


def _good(seconds: float) -> tuple[int, int]:
    now = _now()
    return now, now + int(seconds * 1e6)


def _lines(world: Worlds, tenant: str) -> list[ToyLine]:
    return world.of(tenant).lines


def _stands(world: Worlds, cursor: Cursor) -> bool:
    known = [(line.seq, line.chain.hex()) for line in _lines(world, cursor.tenant)]
    return cursor.seq == 0 or (cursor.seq, cursor.chain) in known


def _cursor(world: Worlds, name: str, tenant: str) -> Cursor:
    cursor = world.cursors.get((name, tenant), Cursor(tenant))
    return cursor if _stands(world, cursor) else Cursor(tenant)


def _unread(world: Worlds, name: str) -> Iterator[tuple[str, ToyLine]]:
    for tenant in sorted(world.tenants):
        after = _cursor(world, name, tenant).seq
        yield from ((tenant, line) for line in _lines(world, tenant) if line.seq > after)


def _told(world: Worlds, line: ToyLine) -> FeedLine:
    assert line.scope is not None
    entry = world.of(line.scope.tenant).entries.get(line.record or 0)
    kind = entry.kind if entry else None
    return FeedLine(line.seq, line.at, line.operation, line.scope, kind, line.record_id, line.chain.hex())


def _state(name: str, duty: Duty) -> JobState:
    ran_at, run = duty.ran or (None, None)
    failed_at, error = duty.failed or (None, None)
    return JobState(
        name,
        holder=duty.lease.holder if duty.lease and _is_held(duty) else None,
        until=duty.good[1] if duty.good and _is_held(duty) else None,
        ran_at=ran_at,
        seconds=run.seconds if run else None,
        did=run.did if run else {},
        failed_at=failed_at,
        error=error,
    )
