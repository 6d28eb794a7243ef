"""Pins: records that upkeep leaves alone. L11."""

from __future__ import annotations

from agent_memory.models.kinds.kind import Kind
from agent_memory.models.model import Model, Moment, Name, Text
from agent_memory.models.record import Record

PIN = "pin"


class PinPayload(Model):
    record_id: Name
    reason: Text | None = None


class Pin(PinPayload):
    """A record that is never pruned, since `pinned_at`."""

    id: Name
    pinned_at: Moment

    @classmethod
    def of(cls, record: Record) -> Pin:
        return cls(id=record.id, pinned_at=record.recorded_at, **record.payload)


KINDS = (Kind(PIN, "pins", PinPayload, key=lambda text, payload: payload["record_id"], searchable=False),)
