"""`memory.toolbox`: the tools of an agent's loop, behind `memory.tools(form)` and `memory.run_tool(…)`. E9.

A tool is an operation of the table: its schema is made from the operation's arguments, and its words from theirs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from pydantic_core import to_jsonable_python

from agent_memory.app.operations import TABLE, Namespace, Operation, Permission, operation
from agent_memory.app.schemas import taken
from agent_memory.models.errors import AgentMemoryError, Conflict, Denied, InvalidInput, NotFound
from agent_memory.models.model import Name
from agent_memory.models.session import ToolForm

UNTOLD = frozenset({"as_of", "valid_at", "if_version", "conversation_id"})
"""Arguments that a model is not told of: they are understood, and would cost words in every prompt."""
OPERATIONS = (
    *("blocks.list", "blocks.append", "blocks.replace", "blocks.insert", "blocks.rewrite", "blocks.undo"),
    *("archival.insert", "archival.search", "sessions.search"),
)
TOOLS: Mapping[str, str] = MappingProxyType({name.replace(".", "_"): name for name in OPERATIONS})
SHOWN = 80  # characters of a name that nobody knows


class Toolbox(Namespace):
    """Tools for any loop that calls a model: edit blocks, keep and search in archival memory, search conversations."""

    @operation("toolbox.schemas", "GET /toolbox", here=True)
    def schemas(self, form: ToolForm = "openai") -> list[dict[str, Any]]:
        """The tools as a model's API takes them: in the form of OpenAI (and of most others), or of Anthropic."""
        return [_shaped(tool, TABLE[name], form) for tool, name in TOOLS.items()]

    @operation("toolbox.run", "POST /toolbox/{name}", permission=Permission.WRITE, here=True)
    def run(self, name: Name, arguments: dict[str, Any] | str | None = None) -> dict[str, Any]:
        """Run a tool that a model called; `arguments` may also be the JSON text that models send.

        `ok` says whether it worked: then there is a `result`, and otherwise an `error` from which the model can correct
        itself.
        """
        try:
            answer = self._client.ask(_chosen(name).name, _read(arguments))
        except (InvalidInput, NotFound, Conflict, Denied) as error:
            if isinstance(error, Denied) and error.field != "label":
                raise  # a model can do nothing about it
            return {"ok": False, "error": _told(name, error)}
        return {"ok": True, "result": to_jsonable_python(answer, exclude_none=True)}


def _shaped(tool: str, operation: Operation, form: ToolForm) -> dict[str, Any]:
    hidden = UNTOLD - {"if_version"} if operation.name == "blocks.rewrite" else UNTOLD
    parameters = taken(operation, without=hidden)
    if form == "anthropic":
        return {"name": tool, "description": operation.summary, "input_schema": parameters}
    function = {"name": tool, "description": operation.summary, "parameters": parameters}
    return {"type": "function", "function": function}


def _chosen(name: str) -> Operation:
    if name in TOOLS:
        return TABLE[TOOLS[name]]
    near = get_close_matches(name[:SHOWN], TOOLS, 1)
    hint = f"{f'did you mean {near[0]}? ' if near else ''}the tools: {', '.join(TOOLS)}"
    raise NotFound(f"name: there is no tool {name[:SHOWN]!r}", hint=hint, field="name")


def _read(arguments: dict[str, Any] | str | None) -> dict[str, Any]:
    if not isinstance(arguments, str):
        return arguments or {}
    try:
        said = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"arguments: not JSON: {error}", hint="send one JSON object", field="arguments") from None
    if not isinstance(said, dict):
        raise InvalidInput("arguments: not a JSON object", hint='send {"name": value, …}', field="arguments")
    return said


def _told(name: str, error: AgentMemoryError) -> dict[str, str]:
    """In the words of whoever called a tool: no operation, no command."""
    told = error.to_dict()
    told["message"] = told["message"].removeprefix(f"{TOOLS.get(name, '')}.")
    if isinstance(error, NotFound) and error.field == "label":
        told["hint"] = "blocks_list tells which there are"
    if isinstance(error, Denied):
        told["hint"] = "leave it as it is, and tell the user what should change"
    return told
