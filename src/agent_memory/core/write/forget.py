"""Forgetting: the records that were named, and whatever was derived from them alone."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.ports.changes import Applied, Author, Erase
from agent_memory.ports.records import RecordStore


def forget(records: RecordStore, ids: Sequence[str], author: Author, now: int, version: int | None = None) -> Applied:
    """All or none of these; `erased` names everything that went. With `version`, only while it is the newest one.

    The engine finds what was derived, in the same transaction: also what no longer holds, was superseded or archived.
    A record with another source stays, with its history: versions of it that came from what is forgotten are forgotten
    only by forgetting that record.
    """
    return records.apply([Erase(id, True, version) for id in dict.fromkeys(ids)], author=author, now=now)
