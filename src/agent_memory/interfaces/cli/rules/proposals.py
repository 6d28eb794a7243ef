"""How rules look that wait for somebody to approve them."""

from __future__ import annotations

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.blocks import Block, Column, Note, Sentence, Table, Under, Verbatim
from agent_memory.models.rules import Proposal


def waiting(found: list[Proposal]) -> list[Block]:
    columns = (
        Column("rule", style="cyan", whole=True, order=0),
        Column("at"),
        Column("confidence", right=True, label=True),
        Column("id", Under.NARROW, whole=True),
        Column("reason", Under.ALWAYS),
        Column("text"),
    )
    rows: list[tuple[object, ...]] = [
        (one.name, one.at, one.confidence, one.id, one.reason or "", _text(one)) for one in found
    ]
    return [Table(columns, rows), Note(f"`{PROGRAM} rules approve RULE` or `{PROGRAM} rules reject RULE`")]


def proposed(one: Proposal) -> list[Block]:
    next_step = f"it holds nowhere yet: `{PROGRAM} rules approve {one.name}` writes it to your page"
    return [Sentence(f"proposed {one.name} ({one.id})", "green"), Note(next_step)]


def learned(one: Proposal) -> list[Block]:
    return [Verbatim(one.diff or ""), *proposed(one)]


def approved(one: Proposal) -> list[Block]:
    return [Sentence(f"approved {one.name}: it holds from now on, in {one.page}", "green")]


def rejected(one: Proposal) -> list[Block]:
    return [Sentence(f"rejected {one.name}", "green")]


def _text(one: Proposal) -> str:
    """What it says, without the name that stands beside it."""
    return one.rule.removeprefix(f"- **{one.name}** ")
