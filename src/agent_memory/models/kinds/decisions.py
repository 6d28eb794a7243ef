"""What was decided, what went wrong, and which settings changed: the archives that people ask "why?" of. T3, T6."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Kind, canonical_json, joined_key
from agent_memory.models.model import Model, Moment, Name, Stored, Text, Unit, now_utc
from agent_memory.models.record import Record

IncidentSeverity = Literal["low", "medium", "high", "critical"]
VALUE_SHOWN = 200  # characters of a setting's value in a text


class DecisionPayload(Model):
    """Who decided what, why, among which alternatives, and how it went. `decision` and `context` are there if they were
    told apart; the text holds both."""

    decision: Text | None = None
    context: Text | None = None
    decided_by: Name | None = None
    reason: Text | None = None
    alternatives: list[Text] = Field(default_factory=list)
    outcome: Text | None = None
    success: bool | None = None


class Decision(DecisionPayload, Stored):
    """A decision. `context` is the situation in which it was taken, and what similar ones are found by. `relevance` is
    told by searches."""

    decision: Text = Field(min_length=1)
    confidence: Unit = 1.0
    decided_at: Moment = Field(default_factory=now_utc)
    relevance: float | None = Field(default=None, json_schema_extra={"readOnly": True})

    def draft(self) -> Draft:
        return Draft(
            kind="decision",
            id=self.id,
            text="\n".join(filter(None, (self.decision, self.context))),
            payload=self.part(DecisionPayload),
            confidence=self.confidence,
            valid_from=self.decided_at,
            dated="decided_at" in self.model_fields_set,
            embedding=self.vector(),
        )

    @classmethod
    def of(cls, record: Record, relevance: float | None = None) -> Decision:
        return cls(
            id=record.id,
            confidence=record.confidence,
            decided_at=record.valid_from,
            relevance=relevance,
            **{"decision": record.text, **record.payload},
        )


class Happening(Model):
    """A line of an incident's timeline."""

    at: Moment
    what: Text = Field(min_length=1)


class IncidentPayload(Model):
    title: Text = Field(min_length=1)
    severity: IncidentSeverity
    description: Text | None = None
    services: list[Name] = Field(default_factory=list)
    timeline: list[Happening] = Field(default_factory=list)
    resolution: Text | None = None
    lessons: list[Text] = Field(default_factory=list)
    resolved_at: Moment | None = None


class Incident(IncidentPayload, Stored):
    """Something that went wrong. Storing it again under its id adds what became known since."""

    started_at: Moment = Field(default_factory=now_utc)

    def draft(self) -> Draft:
        said = (self.title, self.description, self.resolution, *self.lessons, ", ".join(self.services))
        return Draft(
            kind="incident",
            id=self.id,
            text="\n".join(filter(None, said)),
            payload=self.part(IncidentPayload),
            valid_from=self.started_at,
            dated="started_at" in self.model_fields_set,
            embedding=self.vector(),
        )

    @classmethod
    def of(cls, record: Record) -> Incident:
        return cls(id=record.id, started_at=record.valid_from, **record.payload)


class ConfigPayload(Model):
    key: Name
    old: Any = None
    new: Any = None
    changed_by: Name | None = None
    reason: Text | None = None


class ConfigChange(ConfigPayload, Stored):
    """A setting that got another value; `new` None: it was taken away. Where they are left out, `old` is what it was
    before, and `changed_at` is now."""

    changed_at: Moment | None = None

    def draft(self) -> Draft:
        old, new = (canonical_json(one, name)[:VALUE_SHOWN] for one, name in ((self.old, "old"), (self.new, "new")))
        why = f": {self.reason}" if self.reason else ""
        return Draft(
            kind="config_change",
            id=self.id,
            text=f"{self.key} changed from {old} to {new}{why}",
            payload=self.part(ConfigPayload),
            valid_from=self.changed_at,
            dated=True,
            embedding=self.vector(),
        )

    @classmethod
    def of(cls, record: Record) -> ConfigChange:
        return cls(id=record.id, changed_at=record.valid_from, **record.payload)


def _decision_shown(text: str, payload: dict[str, Any]) -> str:
    said = (("because", "reason"), ("outcome", "outcome"))
    return "\n".join([text, *(f"{word}: {payload[field]}" for word, field in said if payload.get(field))])


def _incident_shown(text: str, payload: dict[str, Any]) -> str:
    state = "resolved" if payload.get("resolution") or payload.get("resolved_at") else "open"
    return f"{text}\n(severity {payload['severity']}, {state})"


KINDS = (
    Kind("decision", "decisions", DecisionPayload, indexed=("decided_by",), tier="working", shown=_decision_shown),
    Kind("incident", "incidents", IncidentPayload, indexed=("severity",), shown=_incident_shown),
    Kind(
        "config_change",
        "config_changes",
        ConfigPayload,
        key=lambda text, payload: joined_key(payload["key"]),
        succeeds=True,
        indexed=("key", "changed_by"),
    ),
)
