"""What goes with a record that is forgotten: whatever was derived from it alone."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.ports.changes import Applied, Author, Erase
from agent_memory.ports.records import RecordStore, View

DERIVED_FROM = "DERIVED_FROM"


def forget(records: RecordStore, view: View, ids: Sequence[str], author: Author) -> tuple[Applied, list[str]]:
    """Erase these records and what has no other source. The second value names everything that went."""
    gone = with_derived(records, view, ids)
    return records.apply([Erase(id) for id in gone], author=author, now=view.now), gone


def with_derived(records: RecordStore, view: View, ids: Sequence[str]) -> list[str]:
    """Follow DERIVED_FROM against its direction, as long as all sources of a record are going."""
    gone = dict.fromkeys(ids)
    frontier = list(gone)
    while frontier:
        derived = {
            link.source_id
            for link in records.links(view, frontier)
            if link.type == DERIVED_FROM and link.target_id in gone and link.source_id not in gone
        }
        frontier = []
        for id in sorted(derived):
            links = [link for link in records.links(view, [id]) if link.type == DERIVED_FROM and link.source_id == id]
            if all(link.target_id in gone for link in links):
                gone[id] = None
                frontier.append(id)
    return list(gone)
