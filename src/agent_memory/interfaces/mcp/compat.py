"""The nine tools of the official memory server, as its users know them: names, arguments, answers and texts.

The operations behind them are those of `memory.graph`. Here only words are changed: `entityType` and the like, and
`from` and `to`, which are no names in Python.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import mcp_types as types
from pydantic_core import to_jsonable_python

from agent_memory.app.schemas import plain
from agent_memory.app.service import Caller, Service
from agent_memory.interfaces.mcp import schemas
from agent_memory.interfaces.mcp.places import McpTool
from agent_memory.models.errors import AgentMemoryError

OURS: Mapping[str, str] = MappingProxyType(
    {
        "entityType": "entity_type",
        "entityName": "entity_name",
        "entityNames": "entity_names",
        "addedObservations": "added_observations",
        "relationType": "relation_type",
        "from": "source",
        "to": "target",
    }
)
THEIRS: Mapping[str, str] = MappingProxyType({ours: theirs for theirs, ours in OURS.items()})
TOLD: Mapping[str, str] = MappingProxyType(
    {
        "create_entities": "entities",
        "create_relations": "relations",
        "add_observations": "results",
        "delete_entities": "message",
        "delete_observations": "message",
        "delete_relations": "message",
    }
)
"""Which field of the answer is its text; where none is named, all of it."""
_FIELDS = re.compile(rf"\b(?:{'|'.join(name for name in THEIRS if '_' in name)})\b")
OURS_ALONE = frozenset({"as_of", "valid_at"})
"""Arguments that the official server does not have."""


def arguments(tool: McpTool) -> dict[str, Any]:
    (operation,) = tool.actions.values()
    schema: dict[str, Any] = renamed(plain(operation.arguments.model_json_schema()), THEIRS)
    fields = schema.get("properties", {})
    return {**schema, "properties": {name: one for name, one in fields.items() if name not in OURS_ALONE}}


def answer(tool: McpTool) -> dict[str, Any]:
    """Nothing is cut, so every field is there."""
    (operation,) = tool.actions.values()
    schema: dict[str, Any] = renamed(plain(schemas.given(operation)), THEIRS)
    return schema


def answered(value: Any) -> Any:
    return renamed(to_jsonable_python(value), THEIRS)


def call(service: Service, tool: McpTool, caller: Caller, given: Mapping[str, Any]) -> types.CallToolResult:
    """Arguments that the official server does not know are passed over, as it does."""
    (operation,) = tool.actions.values()
    said = renamed(dict(given), OURS)
    known = {name: value for name, value in said.items() if name in operation.signature.keys() - OURS_ALONE}
    result = answered(service.call(operation, caller, known))
    told = result[TOLD[tool.name]] if tool.name in TOLD else result
    text = told if isinstance(told, str) else json.dumps(told, indent=2, ensure_ascii=False)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], structured_content=result)


def failed(error: AgentMemoryError) -> types.CallToolResult:
    """A sentence, as the official server answers, with its names of fields."""
    text = _FIELDS.sub(lambda found: THEIRS[found[0]], error.message)
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """The same with other names of fields, however deep. Lists of required names are renamed, too."""
    if isinstance(value, list):
        return [renamed(one, names) for one in value]
    if isinstance(value, dict):
        return {
            names.get(name, name): [names.get(part, part) if isinstance(part, str) else part for part in one]
            if name == "required" and isinstance(one, list)
            else renamed(one, names)
            for name, one in value.items()
        }
    return value
