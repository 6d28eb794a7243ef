"""Whether a text is JSON of a shape: as much of JSON Schema as models are asked for, and no more.

Checked are `type`, `enum`, `const`, `required`, `properties` and `items`, at every depth; other words of a schema are
for the model alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def misfit(text: str, schema: Mapping[str, Any]) -> str | None:
    """What is wrong with it; None: nothing."""
    try:
        value = json.loads(text)
    except ValueError:
        return "it is not JSON" if text.strip() else "it is empty"
    return _wrong(value, schema, "it")


def _wrong(value: Any, schema: Any, where: str) -> str | None:
    if not isinstance(schema, Mapping):
        return None
    if "type" in schema:
        allowed = [schema["type"]] if isinstance(schema["type"], str) else list(schema["type"])
        if not any(_is(value, one) for one in allowed):
            return f"{where} is not of type {' or '.join(map(str, allowed))}"
    if ("enum" in schema and value not in schema["enum"]) or ("const" in schema and value != schema["const"]):
        return f"{where} is none of the values that are allowed"
    parts: list[tuple[Any, Any, str]] = []
    if isinstance(value, dict):
        if missing := [name for name in schema.get("required", ()) if name not in value]:
            return f"{where} lacks {missing[0]!r}"
        named = schema.get("properties") or {}
        parts = [(value[name], named[name], repr(name)) for name in named if name in value]
    elif isinstance(value, list) and "items" in schema:
        parts = [(one, schema["items"], f"item {number}") for number, one in enumerate(value, 1)]
    found = (_wrong(part, shape, f"{name} of {where}" if where != "it" else name) for part, shape, name in parts)
    return next((one for one in found if one), None)


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool) and name in ("integer", "number"):
        return False
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _TYPES.get(name, (object,)))
