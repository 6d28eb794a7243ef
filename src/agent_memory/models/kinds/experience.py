"""What was tried and what came of it: tool calls, strategies, learnings, reflections, feedback. C4, C8, E4, P8."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Kind, joined_key
from agent_memory.models.model import Model, Moment, Name, Stored, Text, Unit
from agent_memory.models.record import Link, Record, Status


class ToolCall(Model):
    """One use of a tool, for the audit and the statistics."""

    tool_name: Name
    tool_input: dict[str, Any] = Field(default_factory=dict)
    tool_output: Any = None
    success: bool
    latency_ms: int = Field(ge=0, le=2**53)
    turn_id: Name | None = None
    task_type: Name | None = None
    run_id: Name | None = None


class StrategyPayload(Model):
    description: Text = Field(min_length=1)
    context_pattern: Text
    tool_sequence: list[str] = Field(default_factory=list)
    success_count: int = Field(default=0, ge=0)
    failure_count: int = Field(default=0, ge=0)
    last_used: Moment | None = None
    worked: bool = False


class Strategy(StrategyPayload, Stored):
    """A way of doing something, with how often it worked."""

    @property
    def success_rate(self) -> float:
        tried = self.success_count + self.failure_count
        return self.success_count / tried if tried else 0.0

    def draft(self) -> Draft:
        self.worked = self.success_count > 0
        return Draft(
            kind="strategy",
            id=self.id,
            text=f"{self.description}\n{self.context_pattern}".strip(),
            payload=self.part(StrategyPayload),
            embedding=self.vector(),
        )

    @classmethod
    def of(cls, record: Record) -> Strategy:
        return cls(id=record.id, **record.payload)


class ReflectionPayload(Model):
    """An outcome that waits to be thought about, or what came of it: the `tools` that worked, the `failures`, and what
    tells the most frequent `failure` from others."""

    type: Literal["failure_analysis", "success_pattern", "insight"]
    outcome: dict[str, Any] = Field(default_factory=dict)
    state: Literal["queued", "done"] = "queued"
    tools: list[str] | None = None
    failures: list[str] | None = None
    failure: Text | None = None
    agent_id: Name | None = None
    cycle_id: Name | None = None
    metadata: dict[str, Any] | None = None


class FeedbackPayload(Model):
    """Which memories of a recall helped, and which did not. `cited` are those of the useful ones that nobody named as
    such: an answer cites them."""

    receipt_id: Name
    useful: list[Name] = Field(default_factory=list)
    useless: list[Name] = Field(default_factory=list)
    cited: list[Name] = Field(default_factory=list)


class Feedback(FeedbackPayload):
    id: Name

    @classmethod
    def of(cls, record: Record) -> Feedback:
        return cls(id=record.id, **record.payload)


class LearningPayload(Model):
    """`rule` is Markdown, as on a page of procedures."""

    what: Text = Field(min_length=1)
    why: Text = Field(min_length=1)
    rule: Text | None = None


class Learning(LearningPayload):
    """What an agent learned: what happened, why, and the rule that would keep it from happening again. `held`: it waits
    for review."""

    id: Name
    confidence: Unit
    held: bool = False

    @classmethod
    def of(cls, record: Record) -> Learning:
        held = record.status is Status.HELD
        return cls(id=record.id, confidence=record.confidence, held=held, **record.payload)


class OutcomePayload(Model):
    task_type: Name
    success: bool


def outcome_draft(task_type: str, success: bool, *links: Link) -> Draft:
    """How tasks of a type went: one record for those that succeeded, one for those that failed."""
    return Draft(
        kind="outcome",
        text=f"{task_type}: {'succeeded' if success else 'failed'}",
        payload={"task_type": task_type, "success": success},
        source="agent",
        links=links,
    )


def offered(record: Record) -> bool:
    """What never worked is not."""
    return record.kind != "strategy" or bool(record.payload.get("worked"))


def _strategy_shown(text: str, payload: dict[str, Any]) -> str:
    tried = payload["success_count"] + payload["failure_count"]
    tools = " → ".join(payload["tool_sequence"])
    record = f"worked {payload['success_count']} of {tried} times"
    return "\n".join([text, f"{record}: {tools}" if tools else record])


KINDS = (
    Kind(
        "tool_call",
        "tool_calls",
        ToolCall,
        indexed=("tool_name", "task_type", "run_id"),
        searchable=False,
        tier="working",
    ),
    Kind(
        "strategy",
        "strategies",
        StrategyPayload,
        key=lambda text, payload: joined_key(payload["description"]),
        indexed=("worked",),
        tier="working",
        shown=_strategy_shown,
    ),
    Kind(
        "learning",
        "learnings",
        LearningPayload,
        key=lambda text, payload: joined_key(payload["what"], payload["why"]),
        tier="working",
        asserts="fact",
    ),
    Kind(
        "reflection",
        "reflections",
        ReflectionPayload,
        indexed=("type", "state", "agent_id", "cycle_id", "failure"),
        retells=True,  # it quotes errors of tool calls
    ),
    Kind(
        "feedback",
        "feedback",
        FeedbackPayload,
        key=lambda text, payload: joined_key(payload["receipt_id"]),
        indexed=("receipt_id",),
        searchable=False,
        retells=True,
    ),
    Kind(
        "outcome",
        "outcomes",
        OutcomePayload,
        key=lambda text, payload: joined_key(payload["task_type"], payload["success"]),
        indexed=("task_type", "success"),
        searchable=False,
    ),
)
