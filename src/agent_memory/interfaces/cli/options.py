"""From the signature of an operation to arguments and options. Types decide; only the words of help are ours."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click

from agent_memory.interfaces.cli.moments import MomentType, ParamType
from agent_memory.interfaces.cli.wording import HELP

MOST_BYTES = 64 * 1024 * 1024  # that are read from a pipe
PIPED = "text"  # a parameter of this name is read from a pipe when it is left out


def parameters(signature: Mapping[str, inspect.Parameter]) -> list[click.Parameter]:
    """Required texts and JSON values are positional, the rest are options."""
    made: list[click.Parameter] = []
    for name, given in signature.items():
        many = any(one.nargs == -1 for one in made)
        made.append(_parameter(name, given, many_taken=many))
    return made


def arguments(context: click.Context, signature: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """What was said, as the operation takes it; what was not said is left to its own default."""
    said: dict[str, Any] = {}
    for name, parameter in signature.items():
        value = context.params[name]
        if isinstance(value, tuple):
            value = list(value) or None
        if value is None and _required(parameter):  # a switch, or a pipe: click takes "not said" for an answer
            param = next(one for one in context.command.params if one.name == name)
            raise click.MissingParameter(ctx=context, param=param)
        if value is not None or parameter.default is parameter.empty:
            said[name] = value
    return said


def bare(annotation: Any) -> tuple[Any, bool]:
    """The type without `Annotated` and `| None`, and whether None was allowed."""
    optional = False
    while (origin := get_origin(annotation)) in (Annotated, Union, UnionType):
        kinds = [annotation] if origin is not Annotated else [get_args(annotation)[0]]
        if origin is not Annotated:
            kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
            optional = optional or len(kinds) < len(get_args(annotation))
        if len(kinds) > 1:
            return Any, optional
        annotation = kinds[0]
    return annotation, optional


def _required(given: inspect.Parameter) -> bool:
    return given.default is given.empty and not bare(given.annotation)[1]


def _parameter(name: str, given: inspect.Parameter, *, many_taken: bool) -> click.Parameter:
    kind, _ = bare(given.annotation)
    required = _required(given)
    option = f"--{name.replace('_', '-')}"
    if kind is bool:
        switch = f"{option}/--no-{name.replace('_', '-')}"
        return click.Option([switch, name], default=None, required=required, help=_help(name, given, kind))
    item = bare(get_args(kind)[0])[0] if get_origin(kind) is list else None
    if required and item is str and not many_taken:
        return click.Argument([name], nargs=-1, required=True, type=TextType())
    if required and item is not str and isinstance(reader(kind), TextType | JsonType):
        piped = {"default": _piped} if name == PIPED else {}
        return click.Argument([name], required=True, type=reader(kind), **piped)  # type: ignore[arg-type]
    single = kind if item is None else item
    return click.Option(
        [option, name],
        type=click.STRING if single is str else reader(single),
        multiple=item is not None,
        required=required,
        help=_help(name, given, single),
    )


def reader(kind: Any) -> ParamType:
    if kind is str:
        return TextType()
    if kind in _READERS:
        return _READERS[kind]
    if isinstance(kind, type) and issubclass(kind, Enum):
        return click.Choice([str(one.value) for one in kind])
    if get_origin(kind) is Literal and all(isinstance(one, str) for one in get_args(kind)):
        return click.Choice(list(get_args(kind)))
    return JsonType(strict=kind is not Any)


class TextType(ParamType):
    """A text; `-` reads it from the standard input."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _stdin(self, param, ctx) if value == "-" else value


class JsonType(ParamType):
    """A JSON value; `-` reads it from the standard input. Unless `strict`, what is no JSON is taken as text."""

    name = "json"

    def __init__(self, *, strict: bool) -> None:
        self.strict = strict

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        text = _stdin(self, param, ctx) if value == "-" else value
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            if self.strict:
                self.fail(f"is no JSON: {error}", param, ctx)
            return text


_READERS: Mapping[Any, ParamType] = MappingProxyType(
    {int: click.INT, float: click.FLOAT, datetime: MomentType()},
)


def _piped() -> str | None:
    """`-` where somebody pipes something in; None lets click say that the argument is missing."""
    return None if sys.stdin is None or sys.stdin.isatty() else "-"


def _stdin(reader: ParamType, param: click.Parameter | None, ctx: click.Context | None) -> str:
    data = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        reader.fail(f"the input is longer than {MOST_BYTES} bytes", param, ctx)
    try:
        return data.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        reader.fail(f"the input is no UTF-8: {error.reason} at byte {error.start}", param, ctx)


def _help(name: str, given: inspect.Parameter, kind: Any) -> str:
    said = [HELP.get(name, name.replace("_", " "))]
    if takes_json(kind):
        said.append(json_shape(kind))
    text = "; ".join(said)
    if given.default not in (given.empty, None):
        text += f"  [default: {_spelled(given.default)}]"
    return text


def takes_json(kind: Any) -> bool:
    return kind is not bool and isinstance(reader(kind), JsonType)


def json_shape(kind: Any) -> str:
    """What a JSON value must look like, as far as its type says."""
    from pydantic import BaseModel

    if isinstance(kind, type) and issubclass(kind, BaseModel):
        required = [name for name, field in kind.model_fields.items() if field.is_required()]
        others = [name for name in kind.model_fields if name not in required]
        return f"a JSON object: {', '.join([*required, *(f'[{name}]' for name in others)])}"
    if kind is dict or get_origin(kind) is dict:
        return "a JSON object"
    if get_origin(kind) is list:
        (item,) = get_args(kind)
        return f"a JSON list of {'numbers' if item in (int, float) else 'objects'}"
    return "a JSON value, or plain text"


def _spelled(default: object) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return str(default.value if isinstance(default, Enum) else default)
