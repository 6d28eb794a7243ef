"""JSON schemas for models, from the arguments of operations: no references, no vectors, no noise."""

from __future__ import annotations

import typing
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from agent_memory.app.operations import Operation
from agent_memory.app.wording import told

Schema = dict[str, Any]

VECTORS = frozenset({"embedding", "query_embedding", "vector"})
_NOISE = frozenset({"title"})
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_PEDANTIC = frozenset({"format", "additionalProperties", "minLength", "maxLength"})


class PlainSchema(GenerateJsonSchema):
    """Values that have no JSON schema are left out, without a word about it."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as pydantic declares it


def taken(operation: Operation, without: typing.Container[str] = ()) -> Schema:
    """What a call takes, each argument with what it is for."""
    schema = writable(plain(operation.arguments.model_json_schema(schema_generator=PlainSchema)))
    properties: Schema = {}
    for name, one in schema.get("properties", {}).items():
        if name not in VECTORS and name not in without:
            said = told(operation.name, name)
            properties[name] = {**unpedantic(without_null(one)), **({"description": said} if said else {})}
    required = [name for name in schema.get("required", ()) if name in properties]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def unpedantic(schema: Schema) -> Schema:
    """The same for what lists and objects hold."""
    found = {
        part: one
        for part, one in schema.items()
        if not (part in _BOUNDS and abs(one) >= 2**53) and part not in _PEDANTIC
    }
    if "anyOf" in found:
        found["anyOf"] = [unpedantic(one) for one in found["anyOf"]]
    if isinstance(items := found.get("items"), dict):
        found["items"] = unpedantic(items)
    if "properties" in found:
        found["properties"] = {name: unpedantic(one) for name, one in found["properties"].items()}
    return found


def plain(schema: Schema) -> Schema:
    """Without `$defs`: many clients do not follow references. What holds itself is any object."""
    known = schema.get("$defs", {})

    def walk(node: Any, inside: tuple[str, ...] = ()) -> Any:
        if isinstance(node, list):
            return [walk(one, inside) for one in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            name = node["$ref"].rpartition("/")[2]
            return {"type": "object"} if name in inside else walk(known[name], (*inside, name))
        return {
            name: _properties(one, lambda part: walk(part, inside)) if name == "properties" else walk(one, inside)
            for name, one in node.items()
            if name != "$defs" and not (name in _NOISE and isinstance(one, str))
        }

    return typing.cast(Schema, walk(schema))


def _properties(node: Schema, walk: typing.Callable[[Any], Any]) -> Schema:
    return {name: walk(one) for name, one in node.items() if name not in VECTORS}


def writable(node: Any) -> Any:
    """Without the fields that only answers fill."""
    if isinstance(node, list):
        return [writable(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {name: writable(one) for name, one in node.items() if not (isinstance(one, dict) and one.get("readOnly"))}


def without_null(schema: Schema) -> Schema:
    """An argument that may be left out need not say that it may be null."""
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if not choices or ("default" in schema and schema["default"] is not None):
        return schema
    rest = {name: one for name, one in schema.items() if name not in ("anyOf", "default")}
    return {**rest, **(choices[0] if len(choices) == 1 else {"anyOf": choices})}
