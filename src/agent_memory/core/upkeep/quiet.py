"""Conversations that nobody goes on with are archived: cold, not gone. C12."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agent_memory.core.upkeep.pruning import ACTOR, RESTORED, Pins, Prunable, Pruner
from agent_memory.core.write.commit import How, commit, until_settled
from agent_memory.models.draft import Draft
from agent_memory.models.record import Record, Scope, Status
from agent_memory.ports.changes import Author, Expect
from agent_memory.ports.records import Filter, View

QUIET = "archived: no turn for a long time"


def quiet(pruner: Pruner, found: Iterable[Record], pins: Pins) -> list[Prunable]:
    """The live conversations among these records of one scope that had no turn for as long as they are retained."""
    judged = (_verdict(pruner, one, pins) for one in found if one.kind == "conversation")
    return [one for one in judged if one is not None]


def put_away(pruner: Pruner, scope: Scope, ids: Sequence[str], pins: Pins) -> list[Prunable]:
    """Archive those of these conversations that are still quiet."""

    def read(id: str) -> list[Prunable]:
        found = pruner.records.head(scope, "conversation", id=id)
        return [] if found is None else quiet(pruner, [found], pins)

    def archive(found: list[Prunable]) -> list[Prunable]:
        for one in (each.record for each in found):
            draft = replace(Draft.of(one), payload={**one.payload, "archived": True})
            how = How(expect=[Expect(one.version, id=one.id)], work=pruner.work)
            commit(pruner.writing, [draft], Author(scope, ACTOR, QUIET), pruner.now, how)
        return found

    return [one for id in ids for one in until_settled(archive, lambda id=id: read(id))]  # type: ignore[misc]


def _verdict(pruner: Pruner, record: Record, pins: Pins) -> Prunable | None:
    if record.status != Status.ACTIVE or record.payload.get("archived"):
        return None
    limit = pruner.moment - pruner.retention
    if record.valid_from > limit or pins.keep(record):
        return None
    view, where = View(record.scope, pruner.now), Filter(kinds=("turn",), conversation_id=record.conversation_id)
    last = pruner.records.find(view, where, limit=1)
    if not last or last[0].valid_from > limit:
        return None
    young = pruner.moment - record.recorded_at < pruner.retention
    if young and pruner.line(view, record)[1] == RESTORED:  # what somebody restored has as long once more
        return None
    return Prunable(record, QUIET, f"no turn for {(pruner.moment - last[0].valid_from).days} days")
