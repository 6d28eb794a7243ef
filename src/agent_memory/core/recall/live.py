"""What is live: lists leave out the turns of archived conversations, which recall still finds. C12."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_memory.models.record import Record, Scope, Status
from agent_memory.ports.index import Pool
from agent_memory.ports.records import Filter, RecordStore, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ARCHIVED = Filter(kinds=("conversation",), fields=(("archived", True),))
"""The conversations that nobody goes on with."""


def live(
    records: RecordStore,
    view: View,
    where: Filter,
    *,
    limit: int,
    after: str | None = None,
    oldest_first: bool = False,
) -> list[Record]:
    """What `RecordStore.find` lists, without those turns. Whoever names the conversation, or asks for what has another
    status, gets all."""
    asked = where.kinds is None or "turn" in where.kinds
    named = where.conversation_id is not None or Status.ACTIVE not in where.statuses
    if named or not asked or not records.find(view, ARCHIVED, limit=1):
        return records.find(view, where, limit=limit, after=after, oldest_first=oldest_first)
    known: dict[tuple[Scope, str], bool] = {}
    found: list[Record] = []
    while len(found) < limit:
        page = records.find(view, where, limit=limit, after=after, oldest_first=oldest_first)
        found += [one for one in page if not _is_archived(records, view, one, known)]
        if len(page) < limit:
            break
        after = page[-1].id
    return found[:limit]


def recent(pool: Pool, faded: NDArray[np.float64]) -> NDArray[np.float64]:
    """What recency says, of all but archived conversations: these are not recent, whenever they were."""
    return faded if pool.aside is None else faded * ~pool.aside


def _is_archived(records: RecordStore, view: View, turn: Record, known: dict[tuple[Scope, str], bool]) -> bool:
    if turn.kind != "turn" or turn.conversation_id is None:
        return False
    place = turn.scope, turn.conversation_id
    if place not in known:
        by = records.by_key(view._replace(scope=turn.scope), "conversation", turn.conversation_id)
        known[place] = by is not None and by.payload.get("archived") is True
    return known[place]
