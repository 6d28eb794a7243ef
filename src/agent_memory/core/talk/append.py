"""The next turn of a conversation. Its index is given here, so that two writers never take the same one."""

from __future__ import annotations

from dataclasses import replace

from agent_memory.core.write.commit import How, Writing, commit, once, until_settled
from agent_memory.models.kinds.conversation import Turn, turn_key
from agent_memory.ports.changes import Applied, Author, Expect
from agent_memory.ports.records import Filter, RecordStore, View

NEWEST = 50  # turns by time, among which the last one by index is looked for


def append(writing: Writing, view: View, author: Author, turn: Turn, idempotency_key: str | None = None) -> Turn:
    """Store the turn after the last one, whatever its `index` says; gives it as it is stored. The same idempotency key
    again gives the turn that it stored before."""
    records = writing.records
    key = once(idempotency_key, [replace(turn.draft(), id=None, valid_from=None)])  # what the caller said

    def read() -> Turn:
        return turn.model_copy(update={"index": _next(records, view, author, turn.conversation_id)})

    def attempt(placed: Turn) -> tuple[Turn, Applied]:
        expect = Expect(0, kind="turn", key=turn_key(placed.conversation_id, placed.index))
        return placed, commit(writing, [placed.draft()], author, view.now, How(expect=(expect,), once=key))

    placed, applied = until_settled(attempt, read)
    if not applied.repeated:
        return placed
    return Turn.of(records.get(view, [applied.outcomes[0].id])[0])


def _next(records: RecordStore, view: View, author: Author, conversation_id: str) -> int:
    """After all that this reader sees. Where turns came in another order than they were said, those after the newest
    are found by their keys."""
    newest = records.find(view, Filter(kinds=("turn",), conversation_id=conversation_id), limit=NEWEST)
    index = max((one.payload["index"] for one in newest), default=-1) + 1
    while records.head(author.scope, "turn", key=turn_key(conversation_id, index)) is not None:
        index += 1
    return index
