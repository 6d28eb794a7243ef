"""The journal, read from its end: its last lines, and what it says about an id that is no longer there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agent_memory.interfaces.cli.blocks import Block, Column, Table

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory
    from agent_memory.models.record import JournalLine

LINES = 100  # that are shown when nobody says how many
PAGE = 1000
FARTHEST = 200_000  # how many lines back an erased id is looked for
ERASED = "erase"


def latest(memory: AgentMemory, said: dict[str, Any]) -> list[JournalLine]:
    """The last `limit` lines, like `tail`; with `after`, a page as the operation gives it."""
    limit = said.get("limit", LINES)
    if "after" in said or limit < 1:
        return memory.records.journal(**said)
    newest: int = memory.upkeep.stats()["seq"]
    span = limit
    while True:  # lines of others are not shown, so that a span can hold fewer than it is long
        start = max(0, newest - span)
        found = deque(_lines(memory, start, None, said.get("id")), maxlen=limit)
        if len(found) == limit or start == 0:
            return list(found)
        span *= 8


def erasure(memory: AgentMemory, id: str) -> JournalLine | None:
    """The line that erased the record of this id, if it is the last that was written about it."""
    newest: int = memory.upkeep.stats()["seq"]
    end, oldest = newest, max(0, newest - FARTHEST)
    while end > oldest:
        start = max(oldest, end - PAGE)
        lines = [line for line in _lines(memory, start, end) if line.record_id == id]
        if lines:
            return lines[-1] if lines[-1].operation == ERASED else None
        end = start
    return None


def _lines(memory: AgentMemory, after: int, last: int | None, id: str | None = None) -> Iterator[JournalLine]:
    while page := memory.records.journal(id=id, after=after, limit=PAGE):
        for line in page:
            if last is not None and line.seq > last:
                return
            yield line
        after = page[-1].seq


def lines(found: list[JournalLine]) -> list[Block]:
    columns = (
        Column("seq", right=True, label=True),
        Column("at"),
        Column("operation", style="magenta"),
        Column("actor"),
        Column("record", style="cyan", whole=True, short=True),
        Column("reason"),
    )
    rows: list[tuple[object, ...]] = [
        (one.seq, one.at, one.operation, one.actor, one.record_id or "", one.reason or "") for one in found
    ]
    return [Table(columns, rows)]
