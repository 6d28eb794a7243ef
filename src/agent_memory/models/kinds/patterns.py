"""What to do when: patterns with how often they worked, and the states that agents leave for later. T2, T7."""

from __future__ import annotations

import hashlib
import math
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from agent_memory.models.draft import Draft
from agent_memory.models.expression import is_expression
from agent_memory.models.kinds.kind import Kind, canonical_json, fold, joined_key
from agent_memory.models.model import Model, Moment, Name, Stored, Text, now_utc
from agent_memory.models.record import Record

CERTAINTY = 1.96  # standard deviations: the bound holds in 95 cases of 100
STATE_SHOWN = 500  # characters of a state in its text


class PatternPayload(Model):
    """`form` and `exact` follow from the trigger: how it is matched, and by which digest it is found as it stands."""

    trigger: Text = Field(min_length=1)
    action: Text = Field(min_length=1)
    success_count: int = Field(default=0, ge=0)
    failure_count: int = Field(default=0, ge=0)
    last_used: Moment | None = None
    form: Literal["text", "expression"] = "text"
    exact: str = ""

    @model_validator(mode="after")
    def _follow(self) -> Self:
        self.form = "expression" if is_expression(self.trigger) else "text"
        self.exact = digest(self.trigger)
        return self


class Pattern(PatternPayload, Stored):
    """What to do when something happens. The trigger is the text itself, also in other words, or `/…/`: an expression
    (RE2) that is found in it."""

    @property
    def success_rate(self) -> float:
        """Successes of all tries; 0 before the first."""
        tried = self.success_count + self.failure_count
        return self.success_count / tried if tried else 0.0

    @property
    def bound(self) -> float:
        return lower_bound(self.success_count, self.failure_count)

    def draft(self) -> Draft:
        return Draft(
            kind="pattern",
            id=self.id,
            text=f"{self.trigger}\n{self.action}",
            payload=self.part(PatternPayload),
            embedding=self.vector(),
        )

    @classmethod
    def of(cls, record: Record) -> Pattern:
        return cls(id=record.id, **record.payload)


def lower_bound(successes: int, failures: int) -> float:
    """Wilson's: what the true rate is at least, as far as so few tries can tell. One of one comes to 0.21, ninety of a
    hundred to 0.83."""
    tried = successes + failures
    if not tried:
        return 0.0
    rate, z2 = successes / tried, CERTAINTY**2
    spread = CERTAINTY * math.sqrt(rate * (1 - rate) / tried + z2 / (4 * tried**2))
    return max(0.0, (rate + z2 / (2 * tried) - spread) / (1 + z2 / tried))


def digest(trigger: str) -> str:
    """The same for the same words, however they are spaced and capitalised."""
    return hashlib.blake2b(" ".join(fold(trigger).split()).encode(), digest_size=16).hexdigest()


def pattern_key(payload: dict[str, Any]) -> str:
    """A trigger may have several actions; each pair is one pattern. In an expression, case matters."""
    said = payload["trigger"] if payload.get("form") == "expression" else digest(payload["trigger"])
    return "pattern\x1f" + hashlib.blake2b(f"{said}\x1f{payload['action']}".encode(), digest_size=16).hexdigest()


class AgentStatePayload(Model):
    agent: Name
    state: dict[str, Any]


class AgentState(AgentStatePayload, Stored):
    """What an agent was at when it was last stored; earlier states are its history."""

    updated_at: Moment = Field(default_factory=now_utc)

    def draft(self) -> Draft:
        said = canonical_json(self.state, "state")[:STATE_SHOWN]
        return Draft(kind="agent_state", text=f"{self.agent}: {said}", payload=self.part(AgentStatePayload))

    @classmethod
    def of(cls, record: Record) -> AgentState:
        return cls(id=record.id, updated_at=record.valid_from, **record.payload)


def _pattern_shown(text: str, payload: dict[str, Any]) -> str:
    worked, tried = payload["success_count"], payload["success_count"] + payload["failure_count"]
    return f"when: {payload['trigger']}\ndo: {payload['action']} (worked {worked} of {tried} times)"


KINDS = (
    Kind(
        "pattern",
        "patterns",
        PatternPayload,
        key=lambda text, payload: pattern_key(payload),
        indexed=("form", "exact"),
        tier="working",
        shown=_pattern_shown,
    ),
    Kind(
        "agent_state",
        "agent_states",
        AgentStatePayload,
        key=lambda text, payload: joined_key(payload["agent"]),
        succeeds=True,
        indexed=("agent",),
        searchable=False,
        tier="working",
    ),
)
