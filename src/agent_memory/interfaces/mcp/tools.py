"""Tools: how they are announced, and how a call becomes the call of an operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types

from agent_memory.app.operations import Operation
from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.mcp import answers, compat, schemas, wording
from agent_memory.interfaces.mcp.budget import within, written
from agent_memory.interfaces.mcp.places import COMPAT, Tool, whole
from agent_memory.models.errors import AgentMemoryError, InvalidInput
from agent_memory.ports import spans
from agent_memory.ports.abandon import Abandoned

log = spans.log(__name__)


def announced(tool: Tool) -> types.Tool:
    ours = tool.toolset != COMPAT
    return types.Tool(
        name=tool.name,
        title=tool.name.replace("_", " ").capitalize() if ours else tool.name.replace("_", " ").title(),
        description=wording.described(tool),
        input_schema=schemas.arguments(tool) if ours else compat.arguments(tool),
        output_schema=answers.schema(tool) if ours else compat.answer(tool),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.erases,
            idempotent_hint=tool.idempotent if ours else tool.reads_only or tool.erases,
            open_world_hint=False,
        ),
    )


def allowed(tool: Tool, caller: Caller) -> bool:
    """Whether there is anything in it that this caller may do."""
    return any(one.permission in caller.permissions for one in tool.actions.values())


def call(service: Service, tool: Tool, caller: Caller, given: Mapping[str, Any]) -> types.CallToolResult:
    """Run it. Whatever goes wrong is an answer that the model can read: a code, what is wrong, and the fix."""
    try:
        if tool.toolset == COMPAT:
            return compat.call(service, tool, caller, given)
        operation, arguments, tokens = _asked(tool, dict(given))
        answer = within(answers.shown(operation, service.call(operation, caller, arguments)), tokens)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=written(answer))], structured_content=answer
        )
    except AgentMemoryError as error:
        return failed(error.to_dict())
    except Abandoned:
        raise
    except Exception as error:  # the door: an agent gets a sentence, the log the rest
        log.exception("%s failed", tool.name)
        told = AgentMemoryError(f"{type(error).__name__} in {tool.name}", hint="see the server's log")
        told.trace_id = spans.trace_id(error)
        return failed({**told.to_dict(), "code": "unexpected"})


def failed(problem: Mapping[str, str]) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=written({"error": problem}))], is_error=True
    )


def _asked(tool: Tool, given: dict[str, Any]) -> tuple[Operation, dict[str, Any], int]:
    """Which operation, with which arguments, and how many tokens its answer may have."""
    operation, given = _chosen(tool, given)
    given = _gathered(operation, given)
    if not schemas.takes_budget(tool):
        own = operation.signature.get(schemas.BUDGET)
        asked = given.get(schemas.BUDGET, own and own.default)
        return operation, given, schemas.USUAL + (asked if type(asked) is int and asked > 0 else 0)
    tokens = given.pop(schemas.BUDGET, schemas.USUAL)
    if type(tokens) is not int or not schemas.LEAST <= tokens <= schemas.MOST:
        raise InvalidInput(
            f"{schemas.BUDGET}: {tokens!r}", hint=f"use {schemas.LEAST} to {schemas.MOST}", field=schemas.BUDGET
        )
    return operation, given, tokens


def _chosen(tool: Tool, given: dict[str, Any]) -> tuple[Operation, dict[str, Any]]:
    action = given.pop(schemas.ACTION, None) if tool.grouped else None
    if not isinstance(action, str | None) or action not in tool.actions:
        known = ", ".join(str(one) for one in tool.actions)
        raise InvalidInput(f"{schemas.ACTION}: {action!r}", hint=f"one of {known}", field=schemas.ACTION)
    return tool.actions[action], given


def _gathered(operation: Operation, given: dict[str, Any]) -> dict[str, Any]:
    """The fields of an object, given side by side, as that object. Given as an object, it stays one."""
    part = whole(operation)
    if part is None or part.name in given:
        return given
    inside = {name: value for name, value in given.items() if name in part.fields}
    return {**{name: value for name, value in given.items() if name not in inside}, part.name: inside}
