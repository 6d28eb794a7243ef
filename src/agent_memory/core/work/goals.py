"""Goals as a state machine: legal transitions, no cycles, and completing a blocker unblocks. C6.

The owner sets a goal's `status`, with one exception: a goal that is blocked by others becomes active as soon as all of
them are completed or forgotten. When the last one is completed, that happens in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast

from agent_memory.core.work.edges import EdgeChange, Sort, Waiting, checked, free_all, freed
from agent_memory.core.work.ground import Ground, WorkStep
from agent_memory.core.write.commit import SELF, heads
from agent_memory.models.errors import Conflict
from agent_memory.models.kinds.work import Goal
from agent_memory.models.record import Record
from agent_memory.ports.changes import Author, Expect

LEGAL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "active": ("completed", "abandoned", "blocked"),
        "blocked": ("active", "abandoned"),
        "completed": ("active",),
        "abandoned": ("active",),
    }
)
"""From each status, those that it can become."""


def _blockers(record: Record) -> Sequence[str]:
    return record.payload.get("blocked_by") or ()


def _parents(record: Record) -> Sequence[str]:
    parent = record.payload.get("parent_goal_id")
    return () if parent is None else (parent,)


BLOCKERS = Sort("goal", "blocked_by", "BLOCKED_BY", _blockers)
PARENTS = Sort("goal", "parent_goal_id", "SUBGOAL_OF", _parents)
BLOCKED = Waiting(BLOCKERS, "blocked", "completed", "active", lambda record: record.payload["status"], lost=False)


def add_goal(ground: Ground, goal: Goal) -> Goal:
    """Store a goal; the same id again changes the fields that are given, as far as that is legal."""

    def read() -> WorkStep:
        old, author = heads(ground.records, ground.author, "goal", goal.id)
        changes = {name: getattr(goal, name) for name in goal.model_fields_set}
        return _step(ground, author, old, goal if old is None else Goal.of(old).model_copy(update=changes))

    return _stored(ground, read)


def change_goal(ground: Ground, id: str, changes: Mapping[str, Any]) -> Goal:
    """Give some fields of a goal other values; what it was before stays in its history."""

    def read() -> WorkStep:
        old, author = ground.own("goal", id)
        payload = {**old.payload, **changes}
        return _step(ground, author, old, Goal(id=old.id, description=old.text, created_at=old.valid_from, **payload))

    return _stored(ground, read)


def _stored(ground: Ground, read: Callable[[], WorkStep]) -> Goal:
    step = ground.take(read)
    goal = cast(Goal, step.answer)
    if goal.status == "completed":
        free_all(ground, step.author, goal.id, BLOCKED)
    return goal


def _step(ground: Ground, author: Author, old: Record | None, goal: Goal) -> WorkStep:
    status = None if old is None else old.payload["status"]
    if status is not None:
        check_transition("goal", goal.id, status, goal.status, LEGAL)
    parents = () if goal.parent_goal_id is None else (goal.parent_goal_id,)
    edges = (
        EdgeChange(BLOCKERS, _blockers(old) if old else (), goal.blocked_by),
        EdgeChange(PARENTS, _parents(old) if old else (), parents),
    )
    conditions = [Expect(old.version if old else 0, id=goal.id)]
    unknown = old is None and "id" not in goal.model_fields_set
    waits = goal.status == "blocked" and bool(goal.blocked_by)
    for one in edges:
        if one.added or (waits and one.sort is BLOCKERS):
            conditions += checked(ground, author, goal.id, one, unknown=unknown)
    if waits and not BLOCKED.open(goal.blocked_by, ground.seen(author, goal.blocked_by)):
        goal = goal.model_copy(update={"status": "active"})
    drafts = [replace(goal.draft(), links=tuple(link for one in edges for link in one.links(SELF)))]
    if goal.status == "completed" != status:
        free = freed(ground, author, goal.id, BLOCKED)
        drafts += free.drafts
        conditions += free.expect
    cuts = tuple(cut for one in edges for cut in one.cuts(ground, author, goal.id))
    return WorkStep(author, drafts, conditions, cuts, answer=goal)


def check_transition(kind: str, id: str, old: str, new: str, legal: Mapping[str, tuple[str, ...]]) -> None:
    if new != old and new not in legal[old]:
        raise Conflict(
            f"status: {kind} {id!r} is {old} and cannot become {new}",
            hint=f"from {old} it can become {' or '.join(legal[old]) or 'nothing else'}",
            field="status",
        )
