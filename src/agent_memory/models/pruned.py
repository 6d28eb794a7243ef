"""What pruning finds, and what it did. E5, L11."""

from __future__ import annotations

from agent_memory.models.model import Model, Moment
from agent_memory.models.record import Record


class PrunedRecord(Model):
    """A record and why it is pruned. `until` is there where it is archived and will be removed: until then `restore`
    brings it back. A conversation can always be restored."""

    id: str
    kind: str
    text: str
    why: str
    until: Moment | None = None

    @classmethod
    def of(cls, record: Record, why: str, until: Moment | None = None) -> PrunedRecord:
        return cls(id=record.id, kind=record.kind, text=record.text, why=why, until=until)


class Pruned(Model):
    """`found` were archived by this call or, with `dry_run`, would be; `archived` were so before."""

    dry_run: bool
    found: list[PrunedRecord]
    archived: list[PrunedRecord]
