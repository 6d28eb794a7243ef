"""The kinds that come with the package. Others arrive through the entry point `agent_memory.kinds`."""

from __future__ import annotations

from agent_memory.models.kinds import (
    adapter,
    agent,
    conversation,
    decisions,
    documents,
    experience,
    govern,
    knowledge,
    log,
    operational,
    patterns,
    person,
    pin,
    procedure,
    run,
    talk,
    tools,
    work,
)
from agent_memory.models.kinds.kind import Kind

BUILT_IN: tuple[Kind, ...] = (
    *conversation.KINDS,
    *knowledge.KINDS,
    *documents.KINDS,
    *experience.KINDS,
    *adapter.KINDS,
    *person.KINDS,
    *work.KINDS,
    *decisions.KINDS,
    *operational.KINDS,
    *patterns.KINDS,
    *tools.KINDS,
    *log.KINDS,
    *procedure.KINDS,
    *agent.KINDS,
    *run.KINDS,
    *talk.KINDS,
    *govern.KINDS,
    *pin.KINDS,
)
