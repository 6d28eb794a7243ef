"""Strategies: whether one is meant for a task, and which links it has to what it uses and where it was tried. C4."""

from __future__ import annotations

import re
import secrets

from agent_memory.core.experience.patterns import matches
from agent_memory.core.write.normalise import SALT_BYTES
from agent_memory.models.expression import is_expression
from agent_memory.models.kinds.experience import Strategy
from agent_memory.models.kinds.kind import canonical_json, fold, joined_key
from agent_memory.models.kinds.tools import tool_key
from agent_memory.ports.changes import Connect, Key

INVOKED, USES_TOOL, SUCCEEDED_IN, FAILED_IN = "INVOKED", "USES_TOOL", "SUCCEEDED_IN", "FAILED_IN"
EFFECTIVE_FOR = "EFFECTIVE_FOR"
_WORD = re.compile(r"\w+")


def is_for(context_pattern: str, task: str) -> bool:
    """`/…/` is an expression that is found in the task. Otherwise it is keywords: all of them, or, where commas part
    them, all of one part, are words of the task."""
    if is_expression(context_pattern):
        return matches(context_pattern, task)
    words = set(_WORD.findall(fold(task)))
    parts = (set(_WORD.findall(part)) for part in fold(context_pattern).split(","))
    return any(part and part <= words for part in parts)


def effective_for(strategy: Strategy, task_type: str) -> Connect:
    """To the record of the tasks of a type that succeeded."""
    return _connect(strategy.id, Key("outcome", joined_key(task_type, True)), EFFECTIVE_FOR, {})


def links(strategy: Strategy, success: bool, conversation_id: str | None) -> list[Connect]:
    """To the registered tools that it uses, each with its places in the sequence, and to the conversation in which it
    was tried, as far as there are any."""
    found = [
        _connect(strategy.id, Key("tool", tool_key(tool)), USES_TOOL, {"places": _places(strategy, tool)})
        for tool in dict.fromkeys(strategy.tool_sequence)
    ]
    if conversation_id is not None:
        how = SUCCEEDED_IN if success else FAILED_IN
        found.append(_connect(strategy.id, Key("conversation", conversation_id), how, {}))
    return found


def invoked(call_id: str, tool_name: str) -> Connect:
    """From a call to the tool, if that is registered."""
    return _connect(call_id, Key("tool", tool_key(tool_name)), INVOKED, {})


def _places(strategy: Strategy, tool: str) -> list[int]:
    return [place for place, name in enumerate(strategy.tool_sequence) if name == tool]


def _connect(source: str, target: Key, type: str, properties: dict[str, list[int]]) -> Connect:
    text = canonical_json(properties, "properties")
    return Connect(source, target, type, secrets.token_bytes(SALT_BYTES), properties=text, if_there=True)
