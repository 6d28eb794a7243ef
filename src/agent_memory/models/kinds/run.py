"""Runs: what an agent did for one task, from its beginning to its outcome, step by step, and what it cost. P7."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agent_memory.models.kinds.kind import Kind, joined_key
from agent_memory.models.model import Model, Moment, Name, Text
from agent_memory.models.record import Record


class Spent(Model):
    """Tokens, money and seconds, as far as they are known."""

    tokens: int | None = Field(default=None, ge=0, le=2**53)
    money: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class RunPayload(Spent):
    task_type: Name
    model: Name | None = None
    status: Literal["running", "ended"] = "running"
    success: bool | None = None
    outcome: Any = None
    aborted: bool = False
    ended_at: Moment | None = None


class StepPayload(Spent):
    run_id: Name
    index: int = Field(ge=1)
    data: Any = None


class RunStep(StepPayload):
    """A step of a run; the first has the index 1."""

    id: Name
    title: Text
    at: Moment

    @classmethod
    def of(cls, record: Record) -> RunStep:
        return cls(id=record.id, title=record.text, at=record.valid_from, **record.payload)


class Run(RunPayload):
    """A run. When it ends, its tokens and money are those of its steps together, unless somebody said otherwise, and
    its seconds those from its beginning to its end. `steps` are told by `get`."""

    id: Name
    title: Text
    started_at: Moment
    steps: list[RunStep] = Field(default_factory=list)

    @classmethod
    def of(cls, record: Record) -> Run:
        return cls(id=record.id, title=record.text, started_at=record.valid_from, **record.payload)


def _shown(text: str, payload: dict[str, Any]) -> str:
    came = {True: "succeeded", False: "failed", None: "running"}[payload.get("success")]
    return f"{text} ({payload['task_type']}, {came})"


KINDS = (
    Kind("run", "runs", RunPayload, indexed=("task_type", "status", "success"), shown=_shown),
    Kind(
        "step",
        "steps",
        StepPayload,
        key=lambda text, payload: joined_key(payload["run_id"], payload["index"]),
        indexed=("run_id",),
        searchable=False,
    ),
)
