"""JSON arguments: what they must look like in words, and an example made from the model itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_origin

from agent_memory.interfaces.cli.cleaning import cut, one_line

TEXTS = tuple("content text claim description decision title trigger category name key".split())
"""The field that words of somebody's own belong to."""
LONGEST = 60
EXAMPLES: Mapping[str, Any] = MappingProxyType({"records": [{"text": "Staging listens on port 5433"}]})
"""By the name of the argument, where its type says too little."""


def json_shape(kind: Any) -> str:
    """What a JSON value must look like, as far as its type says."""
    if (fields := _fields(kind)) is not None:
        required = [name for name, field in fields.items() if field.is_required()]
        others = [name for name in fields if name not in required]
        return f"a JSON object: {', '.join([*required, *(f'[{name}]' for name in others)])}"
    if plain(kind) is dict:
        return "a JSON object"
    if plain(kind) is list:
        (item,) = get_args(kind) or (Any,)
        names: dict[type | None, str] = {int: "numbers", float: "numbers", str: "texts", dict: "objects"}
        return f"a JSON list of {names.get(plain(item), 'values')}"
    return "a JSON value, or plain text"


def plain(kind: Any) -> type | None:
    """What JSON calls it: dict, list, or the type itself."""
    if get_origin(kind) is Annotated:
        return plain(get_args(kind)[0])
    if _fields(kind) is not None:
        return dict
    found = get_origin(kind) or kind
    return found if isinstance(found, type) else None


def example(name: str, kind: Any, words: str = "") -> str:
    """A value that would do, in JSON. `words` that are no JSON themselves become its text."""
    said = one_line(words)
    said = cut(said, LONGEST) if said and said[0] not in '{["' else ""
    return json.dumps(EXAMPLES.get(name, _made(kind, said)), ensure_ascii=False)


def _made(kind: Any, words: str) -> Any:
    fields = _fields(kind)
    if fields is None:
        if plain(kind) is list:
            (item,) = get_args(kind) or (str,)
            return [_made(item, words)]
        return {dict: {"name": "value"}, int: 0, float: 0.5}.get(plain(kind) or str, words or "value")
    required = {name: field for name, field in fields.items() if field.is_required()}
    if not required:
        return {name: field.default for name, field in list(fields.items())[:2]}
    main = next((name for name in TEXTS if name in required), None)
    return {name: _value(name, field.annotation, words if name == main else "") for name, field in required.items()}


def _value(name: str, kind: Any, words: str) -> Any:
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    return (words or name.upper()) if plain(kind) is str else _made(kind, "")


def _fields(kind: Any) -> dict[str, Any] | None:
    from pydantic import BaseModel

    return kind.model_fields if isinstance(kind, type) and issubclass(kind, BaseModel) else None
