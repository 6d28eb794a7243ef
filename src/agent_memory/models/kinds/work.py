"""What is to be done: goals, tasks. C6, T2, P7."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Holder, Kind
from agent_memory.models.model import Model, Moment, Name, Stored, Text, now_utc
from agent_memory.models.record import Record

GoalStatus = Literal["active", "completed", "abandoned", "blocked"]
TaskStatus = Literal["pending", "ready", "running", "done", "failed", "cancelled"]
MOST_EDGES = 500


class GoalPayload(Model):
    status: GoalStatus = "active"
    priority: int = Field(default=3, ge=1, le=5)
    parent_goal_id: Name | None = None
    deadline: Moment | None = None
    blocked_by: list[Name] = Field(default_factory=list, max_length=MOST_EDGES)


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


EARLIER = {"completed": "done", "blocked": "pending"}
"""What stores of earlier versions called statuses of tasks."""


def _renamed(status: Any) -> Any:
    return EARLIER.get(status, status) if isinstance(status, str) else status


class TaskPayload(Model):
    """A node of a workflow; its `depends_on` are edges of the DAG. `ready`: all that it depends on is done. While it is
    running, `token` numbers the claim that it is running under."""

    status: Annotated[TaskStatus, BeforeValidator(_renamed)] = "pending"
    goal_id: Name | None = None
    depends_on: list[Name] = Field(default_factory=list, max_length=MOST_EDGES)
    priority: int = Field(default=3, ge=1, le=5)
    input: dict[str, Any] = Field(default_factory=dict)
    max_attempts: int = Field(default=3, ge=1, le=1000)
    retry_seconds: float = Field(default=1.0, ge=0, le=86_400, allow_inf_nan=False)
    attempts: int = Field(default=0, ge=0)
    failures: int = Field(default=0, ge=0)
    lost: int = Field(default=0, ge=0)
    reasons: list[Text] = Field(default_factory=list)
    not_before: Moment | None = None
    worker: Name | None = None
    token: int | None = None
    lease_seconds: float | None = None
    progress: Any = None
    outcome: Any = None


class Task(TaskPayload, Stored):
    """Something to do, once all that it `depends_on` is done; priority 5 comes first. What fails is tried again up to
    `max_attempts` times: after `retry_seconds`, then after twice as long each time. `failures` counts those, and `lost`
    workers that were never heard of again; `reasons` tell of the first and the last ones of both."""

    description: Text = Field(min_length=1)
    created_at: Moment = Field(default_factory=now_utc)

    def draft(self) -> Draft:
        return Draft(
            kind="task",
            id=self.id,
            text=self.description,
            payload=self.part(TaskPayload),
            valid_from=self.created_at,
            dated="created_at" in self.model_fields_set,
            embedding=self.vector(),
        )

    @staticmethod
    def status_of(record: Record) -> str:
        """Without reading the rest."""
        return str(_renamed(record.payload.get("status", "pending")))

    @classmethod
    def of(cls, record: Record) -> Task:
        payload = dict(record.payload)
        if "result" in payload:  # its name in stores of earlier versions
            payload["outcome"] = payload.pop("result")
        return cls(id=record.id, description=record.text, created_at=record.valid_from, **payload)


class Claim(Model):
    """A task, and the token with which its worker reports; both are None where nothing is ready. It unpacks:
    `task, token = memory.tasks.claim("worker")`."""

    task: Task | None = None
    token: str | None = None

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        return iter((self.task, self.token))


class Heartbeat(Model):
    """`cancel`: somebody cancelled the task; stop working on it."""

    task_id: Name
    cancel: bool
    lease_seconds: float


def _goal_shown(text: str, payload: dict[str, Any]) -> str:
    return f"{text} (priority {payload['priority']}, {payload['status']})"


KINDS = (
    Kind(
        "goal",
        "goals",
        GoalPayload,
        indexed=("status", "priority", "parent_goal_id"),
        tier="working",
        shown=_goal_shown,
        holder=Holder("user", "HAS_GOAL"),
    ),
    Kind(
        "task",
        "tasks",
        TaskPayload,
        indexed=("status", "goal_id", "priority"),
        tier="working",
        shown=lambda text, payload: f"{text} ({payload['status']})",
    ),
)
