"""What a writer hands in: an envelope before it has clocks, versions and a scope."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agent_memory.models.record import Link, Record, Status


@dataclass(frozen=True)
class Draft:
    """A record to be written. What is None is filled in: an id is made, `valid_from` is now.

    `dated`: another `valid_from` alone makes a new version. `links` connect the new record to existing
    ones and are written in the same transaction.
    """

    kind: str
    text: str
    payload: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    key: str | None = None
    conversation_id: str | None = None
    repository: str | None = None
    status: Status = Status.ACTIVE
    importance: float = 0.5
    confidence: float = 1.0
    source: str | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    dated: bool = False
    links: tuple[Link, ...] = ()
    embedding: tuple[float, ...] | None = None

    @classmethod
    def of(cls, record: Record) -> Draft:
        """The same again, but for its key, which its kind makes anew."""
        standing = ("conversation_id", "repository", "status", "importance", "confidence", "source")
        return cls(
            kind=record.kind,
            text=record.text,
            payload=dict(record.payload),
            id=record.id,
            dated=True,
            **{name: getattr(record, name) for name in (*standing, "valid_from", "valid_to")},
        )
