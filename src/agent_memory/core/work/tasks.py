"""Tasks: a DAG whose ready nodes are claimed by workers, under leases. P7, T2.

    pending → ready → running → done
       ↑        ↑   ↙    ↓
       └─ retry ┴── failed, cancelled

Which worker may report on a task is decided by the lease of the store (`ports/feed.py`) and by the number of the claim
in the task itself, both checked in the transaction that writes the report. So of two workers, one whose lease went to
the other writes nothing any more, whatever their clocks say.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import Any, cast

from agent_memory.core.work.edges import EdgeChange, Sort, Waiting, checked, free_all, freed
from agent_memory.core.work.goals import check_transition
from agent_memory.core.work.ground import Ground, WorkStep
from agent_memory.core.write.commit import SELF, heads
from agent_memory.models.errors import Conflict, InvalidInput, LeaseLost, NotFound
from agent_memory.models.kinds.kind import LONGEST_PAYLOAD, canonical_json
from agent_memory.models.kinds.work import EARLIER, Claim, Heartbeat, Task, TaskPayload
from agent_memory.models.model import jsonable
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.record import Record, Scope
from agent_memory.ports import spans
from agent_memory.ports.changes import Author, Expect
from agent_memory.ports.feed import Lease, Work
from agent_memory.ports.records import Filter

_log = spans.log(__name__)

FOREVER = 2**62  # a moment after all others
SECOND = 1_000_000
MOST = 10_000
PAGE = 20
MOST_LOST = 10  # workers that may vanish over a task before it counts as failed
LONGEST_WAIT = 86_400.0  # seconds before another try
LONGEST = LONGEST_PAYLOAD // 2  # of what a person says: what workers report of it needs room, too
LONGEST_PROGRESS = LONGEST_PAYLOAD // 10
LONGEST_REASON = 4000
MOST_REASONS = 10
LEGAL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "pending": ("cancelled",),
        "ready": ("cancelled",),
        "running": ("cancelled",),
        "failed": ("pending", "ready"),
        "cancelled": ("pending", "ready"),
        "done": (),
    }
)
"""What a person can make of a task; the rest is its worker's."""


def _needs(record: Record) -> list[str]:
    return record.payload.get("depends_on") or []


NEEDS = Sort("task", "depends_on", "DEPENDS_ON", _needs)
PENDING = Waiting(NEEDS, "pending", "done", "ready", Task.status_of, lost=True)


# -- what a person does


def add_task(ground: Ground, task: Task) -> Task:
    """Store a task: ready, if all that it depends on is done. The same id again changes one that still waits."""
    if task.status == "running":
        raise InvalidInput("status: a task runs when it is claimed", hint="leave the status out", field="status")
    if "created_at" not in task.model_fields_set:
        task = task.model_copy(update={"created_at": from_micros(ground.clock())})

    def read() -> WorkStep:
        old, author = heads(ground.records, ground.author, "task", task.id)
        before = None if old is None else Task.of(old)
        if before is not None and before.status not in ("pending", "ready"):
            raise Conflict(
                f"task {task.id!r} is {before.status}: only one that waits can be changed",
                hint="add another task, or retry this one",
                field="id",
            )
        ground.check_goal(author, task.goal_id, None if before is None else before.goal_id)
        return _put(ground, author, task if before is None else _kept(before, task), old)

    return cast(Task, ground.take(read).answer)


def cancel(ground: Ground, id: str) -> Task:
    """Its worker, if it has one, hears of it at its next heartbeat, and cannot finish it."""
    return _turned(ground, id, lambda task: {"status": "cancelled"})


def retry(ground: Ground, id: str) -> Task:
    """One that failed or was cancelled is to be done after all, with as many tries as a new one."""
    fresh = {"reasons": [], "failures": 0, "lost": 0, "worker": None, "progress": None, "outcome": None}
    return _turned(ground, id, lambda task: {"status": "pending", "not_before": None, **fresh})


def _turned(ground: Ground, id: str, change: Callable[[Task], dict[str, Any]]) -> Task:
    def read() -> WorkStep:
        old, author = ground.own("task", id)
        task = Task.of(old)
        changed = task.model_copy(update=change(task))
        check_transition("task", id, task.status, changed.status, LEGAL)
        if changed.status == task.status:
            return WorkStep(author, answer=task)
        return _put(ground, author, changed, old)

    return cast(Task, ground.take(read).answer)


def _kept(before: Task, task: Task) -> Task:
    """With the fields that a person gave; its progress stays."""
    own = ("description", "goal_id", "depends_on", "priority", "input", "max_attempts", "retry_seconds", "embedding")
    return before.model_copy(update={name: getattr(task, name) for name in own if name in task.model_fields_set})


def _put(ground: Ground, author: Author, task: Task, old: Record | None) -> WorkStep:
    """With its edges, and as ready as what it depends on makes it."""
    conditions = [Expect(old.version if old else 0, id=task.id)]
    edges = EdgeChange(NEEDS, _needs(old) if old else (), task.depends_on)
    if task.status in ("pending", "ready"):
        canonical_json(task.part(TaskPayload), "task", LONGEST)
        unknown = old is None and "id" not in task.model_fields_set
        conditions += checked(ground, author, task.id, edges, unknown=unknown)
        open = _open(ground, author, task.depends_on)
        task = task.model_copy(update={"status": "pending" if open else "ready"})
    draft = replace(task.draft(), links=edges.links(SELF))
    return WorkStep(author, [draft], conditions, edges.cuts(ground, author, task.id), answer=task)


def _open(ground: Ground, author: Author, ids: list[str]) -> set[str]:
    """Of these, the ones that are not done; one that was forgotten never will be."""
    return PENDING.open(ids, ground.seen(author, ids))


# -- what is there to do


def tasks_of(ground: Ground, goal_id: str) -> list[Task]:
    """The tasks of a goal, in the order in which they would be done."""
    where = Filter(kinds=("task",), fields=(("goal_id", goal_id),))
    return sorted(map(Task.of, ground.records.find(ground.view(), where, limit=MOST)), key=_order)


def ready_tasks(ground: Ground, limit: int) -> list[Task]:
    """What can be claimed now: the highest priority first, then the oldest."""
    return sorted(map(Task.of, islice(_ready(ground), limit)), key=_order)


def _order(task: Task) -> tuple[Any, ...]:
    return (-task.priority, task.created_at, task.id)


def _ready(ground: Ground) -> Iterator[Record]:
    """In order; at the end what is still called pending though nothing is in its way: what waited for a task of a wider
    scope, or for one whose worker was killed before it had freed all, and tasks of earlier versions."""
    now = ground.clock()
    for priority in range(5, 0, -1):
        for record in _found(ground, status="ready", priority=priority):
            if _due(record, now):
                yield record
    scope = ground.author.scope
    if (seq := ground.records.seq_at(scope.tenant, FOREVER)) == ground.idle.get(scope):
        return
    pending = [one for status in spelled("pending") for one in _found(ground, status=status)]
    open = _open(ground, ground.author, [id for one in pending for id in _needs(one)])
    free = [one for one in pending if open.isdisjoint(_needs(one))]
    if not free:
        ground.idle[scope] = seq
    yield from sorted((one for one in free if _due(one, now)), key=lambda one: _order(Task.of(one)))


def spelled(status: str) -> list[str]:
    """A status as it may stand in the store."""
    return [status, *(old for old, new in EARLIER.items() if new == status)]


def _found(ground: Ground, **fields: str | int) -> Iterator[Record]:
    """What this user may change, the oldest first, page by page."""
    where = Filter(kinds=("task",), fields=tuple(fields.items()))
    last, size = None, PAGE
    while page := ground.records.find(ground.view(), where, limit=size, after=last, oldest_first=True):
        yield from (one for one in page if one.scope.user == ground.author.scope.user)
        if len(page) < size:
            return
        last, size = page[-1].id, min(size * 4, 1000)


def _due(record: Record, now: int) -> bool:
    """Not before its time; a time that was set by a clock that was ahead binds nobody."""
    until = Task.of(record).not_before
    return until is None or not to_micros(record.recorded_at) <= now < to_micros(until)


# -- what a worker does


def claim(ground: Ground, worker: str, seconds: float) -> Claim:
    """The first task that is ready, or whose worker was not heard of for the length of its lease."""
    for record in _candidates(ground):
        lease = ground.feed.lease(_name(record.scope, record.id), secrets.token_hex(8), seconds)
        if lease is None:
            continue
        task = None
        try:
            task = _claimed(ground, record.id, lease, worker, seconds)
        finally:
            if task is None:
                _over(ground, lease)
        if task is not None:
            return Claim(task=task, token=f"{task.attempts}.{lease.holder}.{task.id}")
    return Claim()


def _candidates(ground: Ground) -> Iterator[Record]:
    now = ground.clock()
    left = [one for one in _found(ground, status="running") if not _surely_held(one, now)]
    if left:
        held = {one.name for one in ground.feed.states() if one.holder is not None}
        left = [one for one in left if _name(one.scope, one.id) not in held]
    left.sort(key=lambda one: _order(Task.of(one)))
    for record in _ready(ground):
        while left and left[0].payload["priority"] >= record.payload.get("priority", 3):
            yield left.pop(0)
        yield record
    yield from left


def _surely_held(record: Record, now: int) -> bool:
    """Whether it is not worth asking for the lease."""
    began = to_micros(record.recorded_at)
    return began <= now < began + (record.payload.get("lease_seconds") or 0) * SECOND


def _claimed(ground: Ground, id: str, lease: Lease, worker: str, seconds: float) -> Task | None:
    """None: it is not to be claimed any more."""

    def read() -> WorkStep:
        old, author = ground.own("task", id)
        task, now = Task.of(old), ground.clock()
        if task.status == "running":
            task = task.model_copy(update=_lost(task))
        elif not (
            task.status == "ready" or (task.status == "pending" and not _open(ground, author, task.depends_on))
        ) or not _due(old, now):
            return WorkStep(author)
        taken = {"status": "running", "attempts": task.attempts + 1, "worker": worker, "token": lease.token}
        taken |= {"lease_seconds": seconds, "progress": None, "not_before": None}
        claimed = None if task.status == "failed" else task.model_copy(update=taken)
        draft = (claimed or task).draft()
        return WorkStep(author, [draft], [Expect(old.version, id=id)], work=Work(lease), answer=claimed)

    try:
        return cast("Task | None", ground.take(read).answer)
    except (LeaseLost, NotFound):  # a very short lease, or it was forgotten
        return None
    except InvalidInput as error:  # of an earlier version, and too long to be written again: others wait behind it
        _log.warning("task %s cannot be claimed: %s", id, error)
        return None


def _lost(task: Task) -> dict[str, Any]:
    """Its worker was not heard of for the length of its lease."""
    lost = task.lost + 1
    reasons = _noted(task.reasons, f"{task.worker} was not heard of for {task.lease_seconds:g} seconds")
    return {"lost": lost, "reasons": reasons, "status": "failed" if lost >= MOST_LOST else "ready"}


def _noted(reasons: list[str], reason: str) -> list[str]:
    """With one more, cut where it is long; of many, the first and the last ones."""
    cut = reason if len(reason) <= LONGEST_REASON else reason[: LONGEST_REASON - 1] + "…"
    return [*reasons, cut] if len(reasons) < MOST_REASONS else [reasons[0], *reasons[2:], cut]


def heartbeat(ground: Ground, token: str, progress: Any = None) -> Heartbeat:
    """The lease is good for its whole length again. With progress, that is noted in the task."""
    id, number, holder = _parts(token)
    progress = jsonable(progress, "progress")
    canonical_json(progress, "progress", LONGEST_PROGRESS)

    def read() -> WorkStep:
        old, author, task, lease = _reported(ground, id, number, holder)
        if task.status != "cancelled":
            _running(task)
        if task.status == "cancelled" or progress is None or progress == task.progress:
            return WorkStep(author, answer=(task, lease))
        draft = task.model_copy(update={"progress": progress}).draft()
        return WorkStep(author, [draft], [Expect(old.version, id=id)], work=Work(lease), answer=(task, lease))

    task, lease = cast("tuple[Task, Lease]", _reporting(ground, id, read).answer)
    seconds = task.lease_seconds or 0.0
    if task.status != "running":  # whoever was told needs it no longer
        _over(ground, lease)
        return Heartbeat(task_id=id, cancel=True, lease_seconds=seconds)
    try:
        ground.feed.renew(lease, seconds)
    except LeaseLost:
        raise _stale(id) from None
    return Heartbeat(task_id=id, cancel=False, lease_seconds=seconds)


def finish(ground: Ground, token: str, outcome: Any = None) -> Task:
    """It is done, and what waited for it alone is ready. The same report twice finishes it once."""
    id, number, holder = _parts(token)
    outcome = jsonable(outcome, "outcome")

    def read() -> WorkStep:
        old, author, task, lease = _reported(ground, id, number, holder)
        if task.status == "done" and task.outcome == outcome:
            return WorkStep(author, answer=(task, lease))
        _running(task)
        done = task.model_copy(update={"status": "done", "outcome": outcome})
        free = freed(ground, author, id, PENDING)
        expect = [Expect(old.version, id=id), *free.expect]
        return WorkStep(author, [done.draft(), *free.drafts], expect, work=Work(lease), answer=(done, lease))

    step = _reporting(ground, id, read)
    done, lease = cast("tuple[Task, Lease]", step.answer)
    _over(ground, lease)
    free_all(ground, step.author, id, PENDING)
    return done


def fail(ground: Ground, token: str, reason: str) -> Task:
    """It is tried again a while later, or, after as many failures as it may have, it has failed."""
    id, number, holder = _parts(token)

    def read() -> WorkStep:
        old, author, task, lease = _reported(ground, id, number, holder)
        _running(task)
        failures = task.failures + 1
        wait = min(task.retry_seconds * 2.0 ** min(failures - 1, 40), LONGEST_WAIT)
        changed: dict[str, Any] = {"reasons": _noted(task.reasons, reason), "failures": failures, "status": "failed"}
        if failures < task.max_attempts:
            changed |= {"status": "ready", "not_before": from_micros(ground.clock() + round(wait * SECOND))}
        failed = task.model_copy(update=changed)
        expect = [Expect(old.version, id=id)]
        return WorkStep(author, [failed.draft()], expect, work=Work(lease), answer=(failed, lease))

    failed, lease = cast("tuple[Task, Lease]", _reporting(ground, id, read).answer)
    _over(ground, lease)
    return failed


def _over(ground: Ground, lease: Lease) -> None:
    """Nothing is kept of it: what a claim is known by later is in the task, and in the hands of its worker."""
    ground.feed.release(lease, forget=True)


def _reporting(ground: Ground, id: str, read: Callable[[], WorkStep]) -> WorkStep:
    try:
        return ground.take(read)
    except LeaseLost:
        raise _stale(id) from None


def _reported(ground: Ground, id: str, number: int, holder: str) -> tuple[Record, Author, Task, Lease]:
    """What a token is about; `LeaseLost` where it is not the last claim of its task."""
    old, author = ground.own("task", id)
    task = Task.of(old)
    if task.token is None or task.attempts != number:
        raise _stale(id)
    return old, author, task, Lease(_name(old.scope, id), holder, task.token)


def _running(task: Task) -> None:
    if task.status != "running":
        raise Conflict(
            f"task {task.id!r} is {task.status} and cannot be reported on", hint="claim another task", field="token"
        )


def _stale(id: str) -> LeaseLost:
    return LeaseLost(
        f"the lease of task {id!r} is over and it went to another worker; nothing was written",
        hint="claim another task; send heartbeats more often, or claim with a longer lease_seconds",
        field="token",
    )


def _parts(token: str) -> tuple[str, int, str]:
    number, _, rest = token.partition(".")
    holder, _, id = rest.partition(".")
    if not (number.isascii() and number.isdigit() and len(number) < 19 and holder and id):
        raise InvalidInput("token: is not a token", hint="use the one that claim gave", field="token")
    return id, int(number), holder


def _name(scope: Scope, id: str) -> str:
    """Of the lease. It says nothing of whose task it is: that of a worker that vanished may outlive it."""
    whose = "\x1f".join((scope.tenant, scope.user, scope.agent, id))
    return f"task {hashlib.sha256(whose.encode()).hexdigest()[:32]}"
