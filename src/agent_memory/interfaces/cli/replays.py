"""How it looks when a recall is asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_memory.interfaces.cli.blocks import Block, Column, Sentence, Table
from agent_memory.interfaces.cli.present import ID, recalled
from agent_memory.models.size import counted

if TYPE_CHECKING:
    from agent_memory.models.answer import Replay


def replayed(one: Replay) -> list[Block]:
    """Whether the answer is the same; if not, what could be the reason, and what is elsewhere."""
    if one.identical:
        return [
            Sentence("identical: the same records, versions, order and scores", "green"),
            *recalled(one.recalled)[:-1],
        ]
    reasons = [
        *([f"{counted(one.forgotten, 'record')} forgotten since"] if one.forgotten else []),
        *([] if one.same_space else [f"meaning was compared in {one.space}, whose vectors are not there any more"]),
        *([] if one.same_vocabularies else [f"its words were those of {', '.join(one.vocabularies) or 'none'}"]),
        *([] if one.same_pipeline else [f"it was answered by pipeline {one.pipeline}"]),
    ]
    columns = (Column("before", label=True), Column("after", label=True), ID)
    rows: list[tuple[object, ...]] = [(_place(diff.before), _place(diff.after), diff.id) for diff in one.differences]
    return [Sentence("not identical", "yellow"), *(Sentence(reason) for reason in reasons), Table(columns, rows)]


def _place(where: tuple[int, int, float] | None) -> str:
    return "–" if where is None else f"place {where[0]}, version {where[1]}, score {where[2]:.2f}"
