"""What to say when there is nothing: an id that is unknown or was forgotten, an answer that is empty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_memory.interfaces.cli import PROGRAM, journal
from agent_memory.interfaces.cli.ids import SHORTEST
from agent_memory.interfaces.cli.output import shown
from agent_memory.models.errors import NotFound

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory


def explained(error: NotFound, memory: AgentMemory, said: dict[str, Any]) -> NotFound:
    """The same error, with all that is known about the id it is about."""
    asked = [id for id in said.get("ids") or [said.get("id")] if isinstance(id, str) and repr(id) in error.message]
    if not asked or error.message.startswith("no proposal "):  # which is asked for by the name of a rule, too
        return error
    for id in asked:
        if not _known(memory, id):
            return _unknown(memory, id)
    return NotFound(error.message, hint=error.hint.replace(" ID", f" {asked[0]}"), field=error.field)


def _known(memory: AgentMemory, id: str) -> bool:
    try:
        return bool(memory.records.history(id))
    except NotFound:
        return False


def _unknown(memory: AgentMemory, id: str) -> NotFound:
    line = journal.erasure(memory, id)
    if line is None:
        short = f"an id can be cut to its first {SHORTEST} characters, and no shorter; " if len(id) < SHORTEST else ""
        hint = f"{short}`{PROGRAM} list` shows what there is"
        return NotFound(f"no record {id!r} of user {memory.user_id!r}", hint=hint, field="id")
    reason = f"reason: {line.reason}" if line.reason else "no reason was given"
    return NotFound(
        f"{id!r} was forgotten on {shown(line.at)} ({reason})",
        hint=f"it cannot come back; `{PROGRAM} journal --after {line.seq - 1} --limit 1` shows who did it",
        field="id",
    )


def nothing(memory: AgentMemory) -> str:
    """Whose memory was asked, where, and what may be the matter. Others are never named."""
    stats = memory.upkeep.stats()
    where = stats["store"] or memory._client.settings.store_url  # a server tells it to operators alone
    said = f"nothing found for user {memory.user_id!r} in {where}"
    others = stats["records"] == 0 and stats["seq"] > 0 and not memory.records.journal(limit=1)
    return said + ("; others have written here: --user NAME asks for what is theirs" if others else "")
