"""How background jobs look: a table of how they stand, and a line for each run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from agent_memory.interfaces.cli.blocks import Block, Column, Table

if TYPE_CHECKING:
    from agent_memory.app.namespaces.upkeep import JobReport


def did(numbers: Mapping[str, int]) -> str:
    """What a run changed: `40 vectors, 0 pending vectors`."""
    return ", ".join(f"{number} {name.replace('_', ' ')}" for name, number in numbers.items())


def reported(found: list[JobReport]) -> list[Block]:
    """The last failure is told where there was one, also if the job has worked again since."""
    failing, held = any(one.last_error for one in found), any(one.held_by for one in found)
    columns = (
        Column("job", style="cyan", whole=True),
        Column("last run", label=True),
        Column("lag", right=True, label=True),
        Column("cursor", right=True, label=True),
        *([Column("held by", label=True)] if held else []),
        *([Column("failed at", label=True), Column("last error", wraps=True, label=True)] if failing else []),
        Column("did"),
    )
    rows: list[tuple[object, ...]] = [
        (
            one.name,
            one.last_run,
            one.lag,
            one.cursor,
            *([one.held_by] if held else []),
            *([one.failed_at, one.last_error] if failing else []),
            did(one.did) or None,
        )
        for one in found
    ]
    return [Table(columns, rows)]
