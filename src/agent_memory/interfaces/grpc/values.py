"""How single values travel: scalars as they are, moments as Timestamps, JSON as Structs and Values.

Nothing here imports protobuf: messages are filled and read through their own attributes, so the same code serves
classes that are made at run time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_core import to_json, to_jsonable_python

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EXACT = 2**53  # a double holds every whole number up to here
DEEPEST = 24  # protobuf reads 100 messages inside each other, and a level of JSON takes up to three


@dataclass(frozen=True)
class Plain:
    """A value that is set: a scalar, or one of an enum. `to` and `of` are its form on the wire and back. The zero of
    an enum is `unspecified`: who sends it says nothing."""

    type: str
    to: Callable[[Any], Any] = lambda value: value
    of: Callable[[Any], Any] = lambda value: value
    is_enum: bool = False


@dataclass(frozen=True)
class MessagePart:
    """A value that is a message of its own."""

    type: str
    fill: Callable[[Any, Any], None]
    read: Callable[[Any], Any]


def _fill_moment(message: Any, moment: datetime) -> None:
    since = moment - EPOCH
    message.seconds = since.days * 86_400 + since.seconds
    message.nanos = since.microseconds * 1000


def _read_moment(message: Any) -> datetime:
    if not 0 <= message.nanos < 1_000_000_000:
        raise ValueError(f"{message.nanos} nanoseconds are not a part of a second")
    try:
        return EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)
    except OverflowError:
        raise ValueError("is outside the years 1 to 9999") from None


def _fill_json(message: Any, value: Any, depth: int = 0) -> None:
    """A whole number that a double cannot hold goes as text, as in protobuf's own JSON; so does what is nested deeper
    than a reader would follow."""
    if isinstance(value, str):
        message.string_value = value
    elif value is None:
        message.null_value = 0
    elif isinstance(value, bool):
        message.bool_value = value
    elif isinstance(value, int):
        if -EXACT <= value <= EXACT:
            message.number_value = value
        else:
            message.string_value = str(value)
    elif isinstance(value, float):
        if math.isfinite(value):
            message.number_value = value
        else:
            message.string_value = str(value)
    elif depth >= DEEPEST and isinstance(value, dict | list | tuple):
        message.string_value = to_json(value).decode()
    elif isinstance(value, dict):
        message.struct_value.SetInParent()
        _fill_object(message.struct_value, value, depth + 1)
    elif isinstance(value, list | tuple):
        message.list_value.SetInParent()
        for one in value:
            _fill_json(message.list_value.values.add(), one, depth + 1)
    else:
        _fill_json(message, to_jsonable_python(value, fallback=str), depth)


def _fill_object(message: Any, value: Any, depth: int = 0) -> None:
    for name, one in value.items():
        _fill_json(message.fields[str(name)], one, depth)


def _read_json(message: Any) -> Any:
    kind = message.WhichOneof("kind")
    if kind == "number_value":
        number = message.number_value
        return int(number) if number.is_integer() and abs(number) <= EXACT else number
    if kind == "struct_value":
        return _read_object(message.struct_value)
    if kind == "list_value":
        return [_read_json(one) for one in message.list_value.values]
    return None if kind in (None, "null_value") else getattr(message, kind)


def _read_object(message: Any) -> dict[str, Any]:
    return {name: _read_json(one) for name, one in message.fields.items()}


TEXT = Plain("string", to=str)
FLAG = Plain("bool")
WHOLE = Plain("int64")
NUMBER = Plain("double")
MOMENT = MessagePart("google.protobuf.Timestamp", _fill_moment, _read_moment)
JSON = MessagePart("google.protobuf.Value", _fill_json, _read_json)
OBJECT = MessagePart("google.protobuf.Struct", _fill_object, _read_object)


def shown(default: Any) -> str:
    """A default as the comment of a field tells it."""
    return json.dumps(to_jsonable_python(default, fallback=str), ensure_ascii=False)
