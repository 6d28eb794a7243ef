"""Where a record comes from: the links `DERIVED_FROM`, followed down to what was derived from nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_memory.models.origin import Origin, Origins
from agent_memory.models.record import Record
from agent_memory.ports.changes import DERIVED_FROM
from agent_memory.ports.records import RecordStore, View

MOST = 1000  # records of one tree


def origins_of(records: RecordStore, view: View, root: Record) -> Origins:
    """All steps of a level are read at once. What the reader may not see is not named."""
    known, sources, left_out = {root.id: root}, dict[str, list[str]](), 0
    level = [root.id]
    while level:
        links = [one for one in records.links(view, level) if one.type == DERIVED_FROM]
        for id in level:
            sources[id] = [one.target_id for one in links if one.source_id == id]
        wanted = sorted({one for id in level for one in sources[id]} - known.keys())
        left_out += max(0, len(known) + len(wanted) - MOST)
        found = records.get(view, wanted[: MOST - len(known)])
        known |= {one.id: one for one in found}
        level = [one.id for one in found]
    return Origins(origins=_in_order(root, known, sources), left_out=left_out)


def _in_order(root: Record, known: Mapping[str, Record], sources: Mapping[str, Sequence[str]]) -> list[Origin]:
    """Each record before its sources, the oldest of these first; the sources of one that comes again stand there once,
    so that no circle is walked for ever."""
    made, told = list[Origin](), set[str]()
    left = [(root, 0)]
    while left:
        record, depth = left.pop()
        named, again = sources[record.id], record.id in told
        found = [known[id] for id in named if id in known]
        made.append(Origin.of(record, depth=depth, sources=len(named), again=again and bool(named)))
        if not again:
            told.add(record.id)
            left += [(source, depth + 1) for source in sorted(found, key=_age, reverse=True)]
    return made


def _age(record: Record) -> tuple[float, str]:
    return record.valid_from.timestamp(), record.id
