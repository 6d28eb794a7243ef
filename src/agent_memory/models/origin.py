"""Where a memory comes from: the records that it was derived from, and those that these were derived from."""

from __future__ import annotations

from agent_memory.models.model import Model, Moment
from agent_memory.models.record import Record, Status


class Origin(Model):
    """A record in a tree of origins, `depth` steps from the one that was asked about. `sources` is how many records it
    was derived from itself. `again`: it stands further up already, and so do its sources."""

    id: str
    depth: int
    kind: str
    text: str
    source: str
    status: Status
    valid_from: Moment
    conversation_id: str | None = None
    sources: int = 0
    again: bool = False

    @classmethod
    def of(cls, record: Record, *, depth: int, sources: int, again: bool) -> Origin:
        return cls(
            id=record.id,
            depth=depth,
            kind=record.kind,
            text=record.text,
            source=record.source,
            status=record.status,
            valid_from=record.valid_from,
            conversation_id=record.conversation_id,
            sources=sources,
            again=again,
        )


class Origins(Model):
    """The record itself, then each of its sources, followed by the sources of that one. `left_out`: how many more
    sources there are than one answer shows."""

    origins: list[Origin]
    left_out: int = 0
