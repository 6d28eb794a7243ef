"""JSON schemas of tools, from the arguments of their operations: no callables, no vectors, no noise.

Answers have none: a model reads the answer itself, and would pay for its schema in every conversation.
"""

from __future__ import annotations

import functools
import typing
from typing import Any

from pydantic import TypeAdapter

from agent_memory.app.operations import Operation
from agent_memory.app.registry import installed_kinds
from agent_memory.app.schemas import VECTORS, PlainSchema, Schema, plain, unpedantic, without_null, writable
from agent_memory.interfaces.mcp.places import McpTool, whole
from agent_memory.interfaces.mcp.wording import about
from agent_memory.models.kinds.work import Task
from agent_memory.models.recipe import Recipe

ACTION = "action"
BUDGET = "max_tokens"
FARTHEST = 2**53
LEAST, USUAL, MOST = 300, 2000, 100_000


def takes_budget(tool: McpTool) -> bool:
    """Tools that read take a number of tokens, unless an operation of theirs does so by itself."""
    return any(one.permission == "read" for one in tool.actions.values()) and not any(
        BUDGET in one.signature for one in tool.actions.values()
    )


def arguments(tool: McpTool) -> Schema:
    """What a call takes: the arguments of its operation, or of all its actions."""
    each = [_arguments(one) for one in tool.actions.values()]
    properties: Schema = {}
    if tool.grouped:
        properties[ACTION] = {"type": "string", "enum": list(tool.actions)}
    for schema in each:
        for name, one in schema["properties"].items():
            properties[name] = _either(properties[name], one) if name in properties else one
    if takes_budget(tool):
        properties[BUDGET] = {
            "type": "integer",
            "minimum": LEAST,
            "maximum": MOST,
            "default": USUAL,
            "description": "an answer of at most so many tokens; what is cut is said",
        }
    always = set.intersection(*(set(schema["required"]) for schema in each))
    required = [*([ACTION] if tool.grouped else []), *(name for name in properties if name in always)]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


@functools.cache
def moments(operation: Operation) -> frozenset[str]:
    """The arguments that are moments."""
    return frozenset(name for name, one in _fields(operation)[0].items() if one.get("format") == "date-time")


@functools.cache
def lists(operation: Operation) -> frozenset[str]:
    """The arguments that are lists."""
    return frozenset(name for name, one in _fields(operation)[0].items() if one.get("type") == "array")


def needed(operation: Operation) -> frozenset[str]:
    """The arguments that must be given."""
    return _fields(operation)[1]


@functools.cache
def _fields(operation: Operation) -> tuple[Schema, frozenset[str]]:
    """What a call says by name, and what it must say. The fields of an object stand among the other arguments."""
    schema = writable(plain(operation.arguments.model_json_schema(schema_generator=PlainSchema)))
    properties, required = schema.get("properties", {}), set(schema.get("required", ()))
    if (part := whole(operation)) is not None:
        inner = properties.pop(part.name)
        properties |= inner["properties"]
        required |= set(inner.get("required", ()))
    found = {name: without_null(one) for name, one in properties.items() if name not in VECTORS}
    return found, frozenset(required & found.keys())


@functools.cache
def _arguments(operation: Operation) -> Schema:
    found, required = _fields(operation)
    properties = {name: {**_sayable(operation, name, one), **about(operation, name)} for name, one in found.items()}
    return {"properties": properties, "required": sorted(required)}


def _sayable(operation: Operation, name: str, schema: Schema) -> Schema:
    """For a model: no bounds of 64 bits, no one form of dates, the kinds there are, a recipe by its name (its two dozen
    numbers are for programs), and a task by what is to be done."""
    parameter = operation.signature.get(name)
    if parameter is not None and Recipe in typing.get_args(parameter.annotation):
        return {"type": "string", "default": schema.get("default", "default")}
    if parameter is not None and Task in typing.get_args(parameter.annotation):
        return {"type": "string"}
    if name in ("kind", "kinds"):
        kinds: Schema = {"type": "string", "enum": list(installed_kinds())}
        return {**schema, "items": kinds} if name == "kinds" else {**schema, **kinds}
    return unpedantic(schema)


def given(operation: Operation) -> Schema:
    """The schema of the type that an operation gives."""
    gives = typing.get_type_hints(operation.function, include_extras=True).get("return", Any)
    return TypeAdapter(gives).json_schema(mode="serialization", schema_generator=PlainSchema)


def _either(one: Schema, other: Schema) -> Schema:
    """Two actions may want different things under one name."""
    if one == other:
        return one
    apart = ("description", "default")
    bare = [{name: part for name, part in each.items() if name not in apart} for each in (one, other)]
    said = list(dict.fromkeys(each["description"] for each in (one, other) if "description" in each))
    shape = bare[0] if bare[0] == bare[1] else {"anyOf": bare}
    return {**shape, "description": "; or: ".join(said)} if said else shape
