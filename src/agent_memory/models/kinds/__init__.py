"""The kinds that come with the package. Others arrive through the entry point `agent_memory.kinds`."""

from __future__ import annotations

from agent_memory.models.kinds import conversation, experience, knowledge, log, person, procedure, work
from agent_memory.models.kinds.kind import Kind

BUILT_IN: tuple[Kind, ...] = (
    *conversation.KINDS,
    *knowledge.KINDS,
    *experience.KINDS,
    *person.KINDS,
    *work.KINDS,
    *log.KINDS,
    *procedure.KINDS,
)
