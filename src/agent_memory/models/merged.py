"""What consolidation made: one record of several that state the same. E3."""

from __future__ import annotations

from pydantic import Field

from agent_memory.models.model import Model
from agent_memory.models.record import Record

FROM, ACCESSES = "consolidated_from", "consolidated_accesses"
"""In the payload of a merged record: how many memories it stands for, and how often these had been recalled by then."""


class Merged(Model):
    """A record, what it says, and the records in whose place it stands."""

    id: str
    text: str
    sources: list[str]


class Consolidation(Model):
    """`merged` memories became `into` new ones; with `dry_run` they would. `groups` shows the first of these."""

    merged: int = 0
    into: int = 0
    dry_run: bool = False
    groups: list[Merged] = Field(default_factory=list)


def consolidated_from(record: Record) -> int:
    """How many memories it stands for; 0 where it was not merged."""
    return _count(record, FROM)


def accesses_before(record: Record) -> int:
    """How often what it stands for was recalled until it was merged. What is known of itself comes on top."""
    return _count(record, ACCESSES) if consolidated_from(record) else 0


def _count(record: Record, name: str) -> int:
    found = record.payload.get(name)
    return found if type(found) is int and found > 0 else 0
