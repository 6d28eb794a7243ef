"""From Python's types to messages: models become messages, closed sets of words enums, unions a oneof.

The same shapes write the .proto file, describe it to clients, and fill and read messages, so the three cannot differ.

| in Python | in the message |
|---|---|
| required | a plain field: what is not sent is empty, 0 or false; a message that is not sent is missing |
| a default, or None | `optional`: what is not sent is not said |
| a list | `repeated`; where it has a default, an empty one is not said (with a default that is not empty: a message) |
| a dict of one type | `map`; any other is a Struct |
| what has no other form | a Value |
"""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from agent_memory.interfaces.grpc.values import (
    FLAG,
    JSON,
    MOMENT,
    NUMBER,
    OBJECT,
    TEXT,
    WHOLE,
    MessagePart,
    Plain,
    shown,
)
from agent_memory.models.errors import InvalidInput

SCALARS: dict[Any, Plain | MessagePart] = {
    str: TEXT,
    bool: FLAG,
    int: WHOLE,
    float: NUMBER,
    datetime: MOMENT,
    Any: JSON,
}
REQUIRED = object()


@dataclass(frozen=True)
class Enum:
    """`name` is dotted where the enum stands inside a message; `values` are the words that Python knows."""

    name: str
    values: tuple[str, ...]
    comment: str = ""
    numbers: dict[str, int] = field(default_factory=dict, compare=False)  # by value, from the lock

    def pin(self, numbers: dict[str, int]) -> None:
        self.numbers.update({str(value): numbers[self.constant(value)] for value in self.values})

    def number(self, value: str) -> int:
        return self.numbers[value]

    def word(self, number: int) -> str:
        for value, known in self.numbers.items():
            if known == number:
                return value
        raise ValueError(f"{number} is not a value of {self.name}")

    @property
    def constants(self) -> list[tuple[str, int]]:
        return [
            (self.constant(value), number) for value, number in sorted(self.numbers.items(), key=lambda one: one[1])
        ]

    @property
    def zero(self) -> str:
        return self.constant("unspecified")

    def constant(self, value: str) -> str:
        return f"{snake(self.name.rpartition('.')[2])}_{re.sub(r'[^A-Za-z0-9]+', '_', value)}".upper()


@dataclass(frozen=True)
class Field:
    """`argument` is its name in Python, which the members of a `oneof` share; `fits` tells them apart there."""

    name: str
    item: Plain | MessagePart
    argument: str
    label: str = ""  # or optional, repeated, map
    oneof: str = ""
    required: bool = False
    comment: str = ""
    fits: Callable[[Any], bool] = lambda value: True

    @property
    def type(self) -> str:
        """As it stands in the .proto, and in the lock."""
        return f"map<string, {self.item.type}>" if self.label == "map" else f"{self.label} {self.item.type}".strip()

    def put(self, message: Any, value: Any) -> None:
        item = self.item
        if self.label == "repeated":
            target = getattr(message, self.name)
            if isinstance(item, Plain):
                target.extend([item.to(one) for one in value])
            else:
                for one in value:
                    item.fill(target.add(), one)
        elif self.label == "map":
            target = getattr(message, self.name)
            for key, one in value.items():
                if isinstance(item, Plain):
                    target[key] = item.to(one)
                else:
                    item.fill(target[key], one)
        elif isinstance(item, Plain):
            setattr(message, self.name, item.to(value))
        else:
            target = getattr(message, self.name)
            target.SetInParent()
            item.fill(target, value)

    def said(self, message: Any) -> bool:
        if self.label in ("repeated", "map"):
            return self.required or len(getattr(message, self.name)) > 0
        if isinstance(self.item, MessagePart):
            return bool(message.HasField(self.name))
        if self.item.is_enum:
            return bool(getattr(message, self.name) != 0)
        return not (self.label or self.oneof) or bool(message.HasField(self.name))

    def take(self, message: Any) -> Any:
        found = getattr(message, self.name)
        of = self.item.of if isinstance(self.item, Plain) else self.item.read
        try:
            if self.label == "repeated":
                return [of(one) for one in found]
            if self.label == "map":
                return {key: of(one) for key, one in found.items()}
            return of(found)
        except InvalidInput as error:
            raise InvalidInput(f"{self.name}.{error.message}", field=f"{self.name}.{error.field}") from None
        except ValueError as error:
            raise InvalidInput(f"{self.name}: {error}", field=self.name) from None


@dataclass
class Message:
    name: str
    comment: str = ""
    fields: list[Field] = field(default_factory=list)
    enums: list[Enum] = field(default_factory=list)

    def fill(self, message: Any, value: Any) -> None:
        known = value if isinstance(value, dict) else vars(value)
        for one in self.fields:
            given = known.get(one.argument)
            if given is not None and (not one.oneof or one.fits(given)):
                one.put(message, given)

    def read(self, message: Any) -> dict[str, Any]:
        """What was said, by argument."""
        return {one.argument: one.take(message) for one in self.fields if one.said(message)}


class Shapes:
    """The messages and enums that some types need, made as they are met."""

    def __init__(self, classes: set[type]) -> None:
        self.messages: dict[str, Message] = {}
        self.enums: dict[str, Enum] = {}
        names = [one.__name__ for one in classes]
        self._names = {
            one: one.__name__ if names.count(one.__name__) == 1 else pascal(one.__module__) + one.__name__
            for one in classes
        }

    def message(self, name: str, comment: str, members: dict[str, tuple[Any, Any]]) -> Message:
        """A message with a field for each member, from its annotation and default."""
        made = self.messages[name] = Message(name, comment)
        for member, (annotation, default) in members.items():
            made.fields.extend(self._fields(made, member, annotation, default))
        return made

    def _fields(self, home: Message, name: str, annotation: Any, default: Any) -> Iterator[Field]:
        kinds, absent = alternatives(annotation)
        required = default is REQUIRED and not absent
        comment = "" if default is REQUIRED or default is None else f"Default: {shown(default)}."
        endings = [ending(kind) for kind in kinds]
        if len(kinds) > 1 and None not in endings and len(set(endings)) == len(kinds):
            for kind, suffix in zip(kinds, endings, strict=True):
                item = self._item(kind, home, name)
                yield Field(f"{name}{suffix}", item, name, "", f"{name}_choice", required, comment, fitting(kind))
            return
        kind = kinds[0] if len(kinds) == 1 else Any
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        label = "" if required else "optional"
        if is_list(kind) and (default is REQUIRED or not default):
            label, item = "repeated", self._item(arguments[0], home, name)
        elif origin is dict and arguments[1] is not Any and (default is REQUIRED or not default):
            label, item = "map", self._item(arguments[1], home, name)
        else:
            item = self._item(kind, home, name)
        if isinstance(item, MessagePart) and label == "optional":
            label = ""  # a message that is not there is not there
        yield Field(name, item, name, label, required=required, comment=comment)

    def _item(self, annotation: Any, home: Message, name: str) -> Plain | MessagePart:
        """One value, whatever it takes: lists and tuples inside others become messages."""
        (kind, *others), _ = alternatives(annotation)
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if others:
            return JSON
        if kind in SCALARS:
            return SCALARS[kind]
        if origin is typing.Literal and all(isinstance(one, str) for one in arguments):
            return self._enum(Enum(f"{home.name}.{pascal(name)}", arguments), home)
        if isinstance(kind, type) and issubclass(kind, StrEnum):
            return self._enum(Enum(kind.__name__, tuple(kind), documented(kind)), None)
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            return self._model(kind)
        if is_list(kind):
            return self._list(self._item(arguments[0], home, name))
        if origin is tuple:
            return self._tuple([self._item(one, home, name) for one in arguments])
        return OBJECT if origin is dict else JSON

    def _enum(self, enum: Enum, home: Message | None) -> Plain:
        known = self.enums.setdefault(enum.name, enum)
        if home is not None and known not in home.enums:
            home.enums.append(known)
        return Plain(known.name, known.number, known.word, is_enum=True)

    def _model(self, model: type[BaseModel]) -> MessagePart:
        name = self._names[model]
        if name not in self.messages:
            self.message(name, documented(model), dict(members(model)))
        made = self.messages[name]
        return MessagePart(name, made.fill, made.read)

    def _list(self, item: Plain | MessagePart) -> MessagePart:
        name = f"{pascal(item.type)}List"
        made = self.messages.setdefault(name, Message(name, "A list that can be empty, or not there."))
        made.fields = [Field("values", item, "values", "repeated", required=True)]
        (only,) = made.fields
        return MessagePart(name, only.put, only.take)

    def _tuple(self, items: list[Plain | MessagePart]) -> MessagePart:
        name = f"{''.join(pascal(item.type) for item in items)}Tuple"
        made = self.messages.setdefault(name, Message(name, "Values in their order."))
        made.fields = [Field(f"item{place}", item, f"item{place}") for place, item in enumerate(items, 1)]

        def fill(message: Any, value: Any) -> None:
            for one, given in zip(made.fields, value, strict=True):
                one.put(message, given)

        return MessagePart(name, fill, lambda message: tuple(one.take(message) for one in made.fields))


def alternatives(annotation: Any) -> tuple[list[Any], bool]:
    """The types that a value may have, without what cannot travel (functions), and whether it may be None."""
    if typing.get_origin(annotation) is typing.Annotated:
        return alternatives(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) not in (typing.Union, types.UnionType):
        return [annotation], annotation is type(None)
    kinds, absent = [], False
    for one in typing.get_args(annotation):
        inner, empty = alternatives(one)
        absent |= empty
        kinds += [kind for kind in inner if kind is not type(None) and not callable_type(kind)]
    return kinds, absent


def members(model: type[BaseModel]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Fields of a model with their types and defaults; a default that is made when needed is told by nobody."""
    for name, known in model.model_fields.items():
        default = known.default if known.default is not PydanticUndefined else None
        yield name, (known.annotation, REQUIRED if known.is_required() else default)


def models(annotation: Any, found: set[type]) -> None:
    """Every model that an annotation leads to."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in found:
        found.add(annotation)
        for known in annotation.model_fields.values():
            models(known.annotation, found)
    for one in typing.get_args(annotation):
        models(one, found)


def is_list(kind: Any) -> bool:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    return origin is list or (origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis)


def callable_type(kind: Any) -> bool:
    return typing.get_origin(kind) is not None and typing.get_origin(kind).__name__ == "Callable"


def ending(kind: Any) -> str | None:
    """What the name of a member of a oneof ends in; None if this type is none that a oneof is made of."""
    if kind is str:
        return ""
    if is_list(kind):
        return "_list"
    return "_value" if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def fitting(kind: Any) -> Callable[[Any], bool]:
    origin = typing.get_origin(kind) or kind
    return lambda value: isinstance(value, origin)


def documented(kind: type) -> str:
    """Its own docstring, and never that of a parent."""
    return "\n".join(line.strip() for line in (vars(kind).get("__doc__") or "").strip().splitlines())


def pascal(name: str) -> str:
    """The last part of a dotted name, in capitals where words begin."""
    return "".join(word[:1].upper() + word[1:] for word in name.rpartition(".")[2].split("_"))


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
