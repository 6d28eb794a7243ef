"""What waits for review: of whoever asks, and of a user also what each of their agents keeps for itself."""

from __future__ import annotations

from collections.abc import Iterator

from agent_memory.models.errors import NotFound
from agent_memory.models.record import SHARED, Record, Scope, Status
from agent_memory.ports.records import Filter, RecordStore, View

BATCH = 200


def places(records: RecordStore, scope: Scope) -> Iterator[Scope]:
    """The scopes whose readers see, together, all that may be decided about from this one."""
    yield scope
    if scope.agent == SHARED:
        for agent in records.agents(scope.tenant, scope.user):
            yield Scope.trusted(tenant=scope.tenant, user=scope.user, agent=agent)


def waiting(records: RecordStore, scope: Scope, now: int) -> list[Record]:
    """The newest first, also those whose time is over."""
    found = dict[str, Record]()
    for place in places(records, scope):
        after = 0
        while batch := records.believed(View(place, now), Filter(statuses=(Status.HELD,)), after=after, limit=BATCH):
            found |= {one.id: one for one in batch}
            after = batch[-1].seq
    return sorted(found.values(), key=_age, reverse=True)


def waits(records: RecordStore, scope: Scope, now: int, id: str) -> Record:
    """The one with this id, as it is now."""
    held = known(records, scope, now, id)
    if held is None or held.status is not Status.HELD:
        raise NotFound(f"id: {id!r} does not wait for review", hint="`agent-memory review` shows what does", field="id")
    return held


def known(records: RecordStore, scope: Scope, now: int, id: str) -> Record | None:
    for place in places(records, scope):
        try:
            last = records.history(View(place, now), id)[-1]
        except (NotFound, IndexError):
            continue
        return records.head(last.scope, last.kind, id=id)
    return None


def after(found: list[Record], last: Record | None) -> list[Record]:
    """Those of a list that come after one, whatever became of that meanwhile."""
    return found if last is None else [one for one in found if _age(one) < _age(last)]


def _age(record: Record) -> tuple[object, str]:
    return record.valid_from, record.id
