"""Vectors that bulk writes leave for later: made at once where that can be watched, or else told about. And what a
recall in a namespace of vectors found."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.blocks import Block, Column, Note, Table, Under
from agent_memory.models.answer import Recalled
from agent_memory.models.model import Model
from agent_memory.models.size import counted

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory
    from agent_memory.models.embedding import VectorRecalled

LONGEST = 300  # characters of a text
HOW = f"`{PROGRAM} upkeep catch-up` makes them"


def finished(memory: AgentMemory, *, later: bool) -> tuple[int, str]:
    """Make those that are missing, unless they are wanted `later`; how many still wait, and what to say about it.

    A server makes them by itself. What an embedder that is out of reach cannot make is no reason to fail: all that was
    imported is in the store, and found by its words."""
    from agent_memory.models.errors import AgentMemoryError

    away = memory._client.settings.is_remote
    trouble = ""
    if not later and not away:
        try:
            memory.upkeep.catch_up()
        except AgentMemoryError as error:
            trouble = f" ({error.message})"
    left = 0
    with suppress(AgentMemoryError):  # of a key that may only write
        left = memory.upkeep.stats()["pending_vectors"]
    how = "the server makes them in the background" if away else HOW
    waiting = counted(left, "memory", "memories")
    return left, f"{waiting} still without a vector, found by words alone until then{trouble}; {how}"


def searched_without(pending: int) -> str:
    """What a recall says of memories that it could not compare by meaning."""
    return f"{counted(pending, 'memory', 'memories')} had no vector yet, searched by words alone; {HOW}"


def noted(result: object) -> str:
    """What has to be said of an answer, also where only its hits are printed."""
    if isinstance(result, Recalled):
        return searched_without(result.pending) if result.pending else ""
    if not isinstance(result, Model):
        return ""
    from agent_memory.models.embedding import VectorRecalled

    trouble = result.trouble if isinstance(result, VectorRecalled) else None
    return "" if trouble is None else _mirrored(trouble)


def recalled(found: VectorRecalled) -> list[Block]:
    """Hits by one embedding; where the vector store was not the one to answer, it says so."""
    columns = (
        Column("score", right=True, style="green", label=True, order=2),
        Column("id", Under.NARROW, "cyan", whole=True, order=0, short=True),
        Column("text"),
    )
    rows: list[tuple[object, ...]] = [(f"{hit.score:.2f}", hit.id, hit.text) for hit in found.hits]
    said = f"{counted(len(rows), 'memory', 'memories')} of {found.namespace}, compared in {found.model}"
    if found.trouble is not None:
        said += f"; {_mirrored(found.trouble)}"
    return [*([Table(columns, rows, LONGEST)] if rows else []), Note(said)]


def _mirrored(trouble: str) -> str:
    return f"answered by the mirror in the store: {trouble}"
