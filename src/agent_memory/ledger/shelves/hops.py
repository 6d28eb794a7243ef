"""What goes by a name, and what links lead to: both over all shelves of a reader, since a link may join two of them.

A link belongs to the narrower scope of its ends, or to that of its author. So whoever sees a link may see both of its
ends; whether they are there, and hold, is asked at every hop all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from agent_memory.ledger.shelves.links import LinkEnd
from agent_memory.ledger.shelves.masks import believed, holding
from agent_memory.ledger.shelves.shelf import Shelf
from agent_memory.models.record import Status
from agent_memory.ports.index import Called, LinkStep
from agent_memory.ports.records import View


class Shown(NamedTuple):
    """The version of a record that a view shows."""

    version: int
    status: Status


def called(shelves: Sequence[Shelf], names: Collection[str], view: View, at: int, most: int) -> list[Called]:
    having: dict[str, dict[int, int]] = {}
    for shelf in shelves:
        for name, versions in shelf.called(names).items():
            known = {version: record for version, record in versions.items() if version <= at}
            having.setdefault(name, {}).update(known)
    telling = {name: known for name, known in having.items() if len({*known.values()}) <= most}
    records = {record for known in telling.values() for record in known.values()}
    found = (one for _, one in sorted(_shown(shelves, records, view, at).items()) if one)
    return [
        Called(one.version, [name for name, known in having.items() if one.version in known], one.status)
        for one in found
        if any(one.version in known for known in telling.values())
    ]


def steps(shelves: Sequence[Shelf], handles: Collection[int], view: View, at: int, most: int) -> list[LinkStep]:
    records = {record for shelf in shelves for record in shelf.records_of(handles)}
    shown = _shown(shelves, records, view, at)
    here = {record: one.version for record, one in shown.items() if one and one.version in handles}
    near = _sorted(here)
    edges = [edge for shelf in shelves for edge in shelf.edges(near, at)]
    there = _shown(shelves, {edge.far for edge in edges}, view, at)
    edges = sorted(edge for edge in edges if edge.far in there)  # in the order in which the links came
    fans = Counter(map(_fan, edges))
    return [
        LinkStep(here[edge.near], one.version, edge.type, edge.weight, not edge.against, one.status)
        for edge in edges
        if fans[_fan(edge)] <= most and (one := there[edge.far])
    ]


def _fan(edge: LinkEnd) -> tuple[int, str, bool]:
    return edge.near, edge.type, edge.against


def _shown(shelves: Sequence[Shelf], records: Collection[int], view: View, at: int) -> dict[int, Shown | None]:
    """Of those of these records that are there, what the view shows; None where it does not."""
    found: dict[int, Shown | None] = {}
    asked = _sorted(records)
    for shelf in shelves if records else ():
        columns, statuses = shelf.versions_of(asked)
        found |= dict.fromkeys(columns["record"].tolist())
        mask = holding(columns, believed(columns, at), view)
        cells = (columns[name][mask].tolist() for name in ("record", "version", "status"))
        for record, version, status in zip(*cells, strict=True):
            if status in statuses:
                found[record] = Shown(version, statuses[status])
    return found


def _sorted(records: Collection[int]) -> NDArray[np.uint64]:
    return np.array(sorted(records), np.int64).view(np.uint64)
