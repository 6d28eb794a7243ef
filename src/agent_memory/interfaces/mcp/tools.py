"""Tools: how they are announced, and how a call becomes the call of an operation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

import mcp_types as types

from agent_memory.app.operations import Operation
from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.mcp import answers, compat, schemas
from agent_memory.interfaces.mcp.arguments import NAMES, ReadCall, named, spoken, understood
from agent_memory.interfaces.mcp.budget import within, written
from agent_memory.interfaces.mcp.faces import FACES
from agent_memory.interfaces.mcp.places import COMPAT, McpTool, whole
from agent_memory.interfaces.mcp.wording import WHEN, hinted
from agent_memory.models.errors import AgentMemoryError, InvalidInput
from agent_memory.models.model import FIXES
from agent_memory.ports import spans
from agent_memory.ports.abandon import Abandoned

SHOWN = 80  # characters of a name that nobody knows
log = spans.log(__name__)


def announced(tool: McpTool) -> types.Tool:
    ours = tool.toolset != COMPAT
    return types.Tool(
        name=tool.name,
        title=None if ours else tool.name.replace("_", " ").title(),
        description=described(tool),
        input_schema=_taken(tool) if ours else compat.arguments(tool),
        output_schema=None if ours else compat.answer(tool),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=tool.erases,
            idempotent_hint=tool.idempotent if ours else tool.reads_only or tool.erases,
            open_world_hint=False,
        ),
    )


def _taken(tool: McpTool) -> dict[str, Any]:
    return FACES[tool.name].schema() if tool.name in FACES else schemas.arguments(tool)


def ordered(tools: Mapping[str, McpTool]) -> dict[str, McpTool]:
    """Those that an agent needs most at the top."""
    first = [name for name in (*FACES, *WHEN) if name in tools]
    return {name: tools[name] for name in dict.fromkeys([*first, *tools])}


def described(tool: McpTool) -> str:
    """What a model reads about a tool."""
    if tool.toolset == COMPAT:
        return next(iter(tool.actions.values())).summary.rstrip(".")
    if tool.name in FACES:
        return FACES[tool.name].says
    parts = [WHEN[tool.name]] if tool.name in WHEN else []
    if tool.grouped:
        parts += [f"- {action}({_wants(one)}): {one.summary}" for action, one in tool.actions.items()]
        return "\n".join(parts)
    (operation,) = tool.actions.values()
    return "\n\n".join([*parts, operation.summary])


def _wants(operation: Operation) -> str:
    """The arguments of an action: those that may be left out with a question mark."""
    part = whole(operation)
    optional = part.fields if part else {}
    optional |= {
        name: one.default is not inspect.Parameter.empty
        for name, one in operation.signature.items()
        if part is None or name != part.name
    }
    return ", ".join(f"{name}?" if may else name for name, may in optional.items())


def allowed(tool: McpTool, caller: Caller) -> bool:
    """Whether there is anything in it that this caller may do."""
    return any(one.permission in caller.permissions for one in tool.actions.values())


def call(service: Service, tool: McpTool, caller: Caller, given: Mapping[str, Any]) -> types.CallToolResult:
    """Run it. Whatever goes wrong is an answer that the model can read: a code, what is wrong, and the fix."""
    heard = ReadCall(service.clock.now().astimezone())
    try:
        if tool.toolset == COMPAT:
            return compat.call(service, tool, caller, given)
        operation, arguments, tokens = asked(tool, given, heard)
        answer = answers.shown(operation, service.call(operation, caller, arguments), arguments)
        answer = within({**answer, "moments": heard.moments} if heard.moments else answer, tokens)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=written(answer))], structured_content=answer
        )
    except AgentMemoryError as error:
        return failed(_told(tool, error.to_dict(), heard, given)) if tool.toolset != COMPAT else compat.failed(error)
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


def _told(tool: McpTool, problem: dict[str, str], heard: ReadCall, given: Mapping[str, Any]) -> dict[str, str]:
    """In the words of whoever called: the tool and its arguments, not the operation, and tools instead of commands."""
    message = problem["message"]
    for operation in tool.actions.values():
        message = message.removeprefix(f"{operation.name}.")
    told = {**problem, "message": message}
    if field := problem.get("field"):
        told["field"] = heard.names.get(field) or (field if field in given else _shown(tool, field))
        if message.startswith(f"{field}:"):
            told["message"] = told["field"] + message.removeprefix(field)
    if "hint" in problem:
        told["hint"] = hinted(problem["hint"])
    if problem.get("hint", "").startswith(FIXES["extra_forbidden"]):
        told |= _unknown(tool, told["field"])
    return told


def _unknown(tool: McpTool, field: str) -> dict[str, str]:
    """What is said of an argument that there is not: the one that was probably meant, and what a face takes."""
    takes = [*FACES[tool.name].takes()] if tool.name in FACES else []
    near = get_close_matches(field[:SHOWN], _known(tool), 1)
    said = [f"did you mean {near[0]}?"] if near else []
    said += [f"{tool.name} takes {', '.join(takes)}"] if takes else []
    return {"message": f"there is no {field[:SHOWN]}", **({"hint": " ".join(said)} if said else {})}


def _shown(tool: McpTool, field: str) -> str:
    """What a face calls an argument of the operation behind it."""
    takes = FACES[tool.name].takes() if tool.name in FACES else {}
    return field if field in takes else next((name for name in takes if name in NAMES.get(field, ())), field)


def asked(tool: McpTool, given: Mapping[str, Any], heard: ReadCall) -> tuple[Operation, dict[str, Any], int]:
    """Which operation, with which arguments, and how many tokens its answer may have."""
    action, said = _chosen(tool, dict(given), heard)
    if not isinstance(action, str | None) or action not in tool.actions:
        known = ", ".join(str(one) for one in tool.actions)
        raise InvalidInput(f"{schemas.ACTION}: {action!r}", hint=f"one of {known}", field=schemas.ACTION)
    operation = tool.actions[action]
    if not schemas.takes_budget(tool):
        own = operation.signature.get(schemas.BUDGET)
        wanted = said.get(schemas.BUDGET, own and own.default)
        tokens = schemas.USUAL + (wanted if type(wanted) is int and wanted > 0 else 0)
        return operation, understood(operation, said, heard), tokens
    tokens = said.pop(schemas.BUDGET, schemas.USUAL)
    if type(tokens) is not int or not schemas.LEAST <= tokens <= schemas.MOST:
        raise InvalidInput(
            f"{schemas.BUDGET}: {tokens!r}", hint=f"use {schemas.LEAST} to {schemas.MOST}", field=schemas.BUDGET
        )
    return operation, understood(operation, said, heard), tokens


def _chosen(tool: McpTool, given: dict[str, Any], heard: ReadCall) -> tuple[Any, dict[str, Any]]:
    """The action that is named, or the one that a face finds in what is given."""
    action = given.pop(schemas.ACTION, None) if tool.grouped else None
    face = FACES.get(tool.name)
    if face is None:
        return action, given
    if isinstance(action, dict):  # what is to be checked, as it is called everywhere else
        given = {**action, **given}
        action = None
    found, said = face.leads(named(spoken(given), _known(tool), heard))
    return (found, said) if action in (None, found) else (action, given)


def _known(tool: McpTool) -> list[str]:
    """The arguments of a tool: of its face, if it has one, and of everything behind it."""
    known = dict.fromkeys(FACES[tool.name].takes() if tool.name in FACES else ())
    for operation in tool.actions.values():
        part = whole(operation)
        own = [name for name in operation.signature if part is None or name != part.name]
        known |= dict.fromkeys([*own, *(part.fields if part else ())])
    return [*known, schemas.BUDGET]
