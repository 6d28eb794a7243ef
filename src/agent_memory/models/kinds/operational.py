"""What happens right now: events of a running system. The critical ones are records; the others pass through. T1."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import to_jsonable_python

from agent_memory.models.draft import Draft
from agent_memory.models.kinds.kind import Kind, canonical_json, check_plain
from agent_memory.models.model import Model, Moment, Name, now_utc
from agent_memory.models.record import Record

Severity = Literal["debug", "info", "warning", "error", "critical"]
SHOWN = 300  # characters of a payload in a text


def _plain(payload: dict[str, Any]) -> dict[str, Any]:
    """A copy as JSON values: what is pushed stays as it was, whatever becomes of the caller's own."""
    made: dict[str, Any] = to_jsonable_python(payload)
    check_plain(made)
    return made


class EventPayload(Model):
    category: Name
    severity: Severity = "info"
    payload: Annotated[dict[str, Any], AfterValidator(_plain)] = Field(default_factory=dict)


class Event(EventPayload):
    """Something that happened. `critical` and the severity of that name are the same. `id` is that of the record, where
    it is one: a critical event is."""

    model_config = ConfigDict(frozen=True)

    critical: bool = False
    time: Moment = Field(default_factory=now_utc)
    id: Name | None = Field(default=None, json_schema_extra={"readOnly": True})

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.critical or self.severity == "critical":
            self.__dict__.update(critical=True, severity="critical")
        return self

    def is_critical(self) -> bool:
        return self.critical

    def draft(self) -> Draft:
        return Draft(
            kind="event",
            text=event_line(self.category, self.payload),
            payload=self.model_dump(mode="json", include=set(EventPayload.model_fields)),
            valid_from=self.time,
            source="operational",
            importance=1.0 if self.critical else 0.5,
        )

    @classmethod
    def of(cls, record: Record) -> Event:
        return cls(id=record.id, time=record.valid_from, critical=True, **record.payload)


def event_line(category: str, payload: dict[str, Any]) -> str:
    """An event in a line."""
    if not payload:
        return category
    one = next(iter(payload.values()))
    text = one if len(payload) == 1 and isinstance(one, str) else canonical_json(payload)
    return f"{category}: {text[:SHOWN]}"


KINDS = (
    Kind(
        "event",
        "events",
        EventPayload,
        indexed=("category", "severity"),
        tier="working",
        shown=lambda text, payload: f"{text} ({payload['severity']})",
    ),
)
