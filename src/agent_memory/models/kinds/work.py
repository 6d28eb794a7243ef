"""What is to be done and what was decided: goals, tasks, decisions. C6, T2, P7."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Kind
from agent_memory.models.model import Model, Moment, Name, Stored, Text, now_utc
from agent_memory.models.record import Record

GoalStatus = Literal["active", "completed", "abandoned", "blocked"]


class GoalPayload(Model):
    status: GoalStatus = "active"
    priority: int = Field(default=3, ge=1, le=5)
    parent_goal_id: Name | None = None
    deadline: Moment | None = None
    blocked_by: list[Name] = Field(default_factory=list)


class ParentGoal(Model):
    """What a sub-goal serves."""

    id: Name
    description: Text
    status: GoalStatus
    priority: int


class Goal(GoalPayload, Stored):
    """Something to reach; priority 5 is the highest. `parent` is told by reads; what is stored is `parent_goal_id`."""

    description: Text = Field(min_length=1)
    created_at: Moment = Field(default_factory=now_utc)
    parent: ParentGoal | None = Field(default=None, json_schema_extra={"readOnly": True})

    def draft(self) -> Draft:
        return Draft(
            kind="goal",
            id=self.id,
            text=self.description,
            payload=self.part(GoalPayload),
            valid_from=self.created_at,
            dated="created_at" in self.model_fields_set,
            embedding=self.vector(),
        )

    @classmethod
    def of(cls, record: Record) -> Goal:
        return cls(id=record.id, description=record.text, created_at=record.valid_from, **record.payload)


class TaskPayload(Model):
    """A node of a workflow; its `depends_on` are edges of the DAG."""

    status: Literal["pending", "running", "completed", "failed", "blocked"] = "pending"
    goal_id: Name | None = None
    depends_on: list[Name] = Field(default_factory=list)
    result: dict[str, Any] | None = None


class DecisionPayload(Model):
    """Who decided what, why, among which alternatives, and how it went."""

    decided_by: Name | None = None
    reason: Text | None = None
    alternatives: list[Text] = Field(default_factory=list)
    outcome: Text | None = None


def _goal_shown(text: str, payload: dict[str, Any]) -> str:
    return f"{text} (priority {payload['priority']}, {payload['status']})"


def _decision_shown(text: str, payload: dict[str, Any]) -> str:
    said = (("because", "reason"), ("outcome", "outcome"))
    return "\n".join([text, *(f"{word}: {payload[field]}" for word, field in said if payload.get(field))])


KINDS = (
    Kind(
        "goal",
        "goals",
        GoalPayload,
        indexed=("status", "priority", "parent_goal_id"),
        tier="working",
        shown=_goal_shown,
    ),
    Kind(
        "task",
        "tasks",
        TaskPayload,
        indexed=("status", "goal_id"),
        tier="working",
        shown=lambda text, payload: f"{text} ({payload['status']})",
    ),
    Kind("decision", "decisions", DecisionPayload, indexed=("decided_by",), tier="working", shown=_decision_shown),
)
