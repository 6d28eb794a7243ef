"""Merged records and forgetting: the words of a memory are also in the record that it was merged into, and the other
way round.

Whoever forgets a merged record means all that it stands for. Whoever forgets one of its originals takes the merged
record along; the other originals hold again. E3, L11."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from agent_memory.models.merged import consolidated_from
from agent_memory.models.record import Record, Status
from agent_memory.ports.changes import DERIVED_FROM, Amend, Erase
from agent_memory.ports.records import RecordStore, View

Get = Callable[[Sequence[str]], Iterable[Record]]


class MergedCompany(NamedTuple):
    """What holds again, and what else goes."""

    again: list[Amend]
    along: list[Erase]


def company(
    records: RecordStore, view: View, found: Iterable[Record], kept: Collection[str], get: Get
) -> MergedCompany:
    """`found` is to be erased; what the same write makes active again is `kept`."""
    known = {one.id: one for one in found}
    known |= _derived(records, view, known, get)
    going, apart, again, along = set(known), set[str](), dict[str, Amend](), list[Erase]()
    left = [one for one in known.values() if _concerned(one)]
    while left:
        links = [one for one in records.links(view, [one.id for one in left]) if one.type == DERIVED_FROM]
        ends = {end for link in links for end in (link.source_id, link.target_id)}
        known |= {one.id: one for one in get(sorted(ends - known.keys()))}
        pairs = [(known[one.source_id], known[one.target_id]) for one in links if {*one.ends[:2]} <= known.keys()]
        turned: list[Record] = []
        for merged, original in pairs:
            if not consolidated_from(merged):
                continue
            if original.id in going and merged.id not in going:
                apart.add(merged.id)
                turned.append(merged)
            elif merged.id in going and merged.id not in apart and _goes_along(original, going, kept):
                turned.append(original)
            going |= {one.id for one in turned}
        for merged, original in pairs:
            if merged.id in apart and _goes_along(original, going, kept):
                again[original.id] = Amend(original.id, status=Status.ACTIVE)
        along += [Erase(one.id, with_derived=True, scope=one.scope) for one in turned]
        left = turned
    return MergedCompany([one for id, one in again.items() if id not in going], along)


def _derived(records: RecordStore, view: View, found: Mapping[str, Record], get: Get) -> dict[str, Record]:
    """What goes with these, since it was derived from them alone: among it may be originals."""
    user, gone, made, left = view.scope.user, set(found), dict[str, Record](), list(found)
    while left:
        links = [one for one in records.links(view, left) if one.type == DERIVED_FROM and one.target_id in gone]
        near = get(sorted({one.source_id for one in links} - gone)) if links else ()
        some = {one.id: one for one in near if one.scope.user == user and one.kind != "entity"}
        rooted = {
            one.source_id
            for one in (records.links(view, sorted(some)) if some else ())
            if one.type == DERIVED_FROM and one.target_id not in gone
        }
        left = [id for id, one in some.items() if id not in rooted and not consolidated_from(one)]
        made |= {id: some[id] for id in left}
        gone |= {*left}
    return made


def _goes_along(original: Record, going: Collection[str], kept: Collection[str]) -> bool:
    return original.status is Status.ARCHIVED and original.id not in going and original.id not in kept


def _concerned(record: Record) -> bool:
    return record.status is Status.ARCHIVED or consolidated_from(record) > 0
