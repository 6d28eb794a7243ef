"""How it looks who read and changed what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from agent_memory.interfaces.cli.blocks import Block, Column, Table
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory
    from agent_memory.models.audit import AuditLine

COLUMNS = (
    Column("at"),
    Column("did", style="magenta"),
    Column("operation"),
    Column("user"),
    Column("door"),
    Column("key", style="cyan", whole=True),
    Column("records", style="cyan", whole=True, short=True),
    Column("why"),
)


def asked(memory: AgentMemory, said: dict[str, Any]) -> list[AuditLine]:
    """Whoever writes `--user` asks for what that user did."""
    session = click.get_current_context().find_object(Session)
    named = {} if session is None or session.user is None else {"by": session.user}
    return memory.govern.audit(**named | said)


def lines(found: list[AuditLine]) -> list[Block]:
    return [Table(COLUMNS, [_row(one) for one in found])]


def _row(one: AuditLine) -> tuple[object, ...]:
    who = one.user if one.agent == "*" else f"{one.user}/{one.agent}"
    ids = one.ids[0] if one.shown == 1 and one.ids else str(one.shown or "")
    return (one.at, one.did, one.operation, who, one.door or "", one.key or "", ids, one.why or "")
