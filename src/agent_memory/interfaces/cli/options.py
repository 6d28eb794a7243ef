"""From the signature of an operation to arguments and options. Types decide; only the words of help are ours."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from types import MappingProxyType, NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import click

from agent_memory.app.wording import explained
from agent_memory.interfaces.cli import completing, shapes
from agent_memory.interfaces.cli.wording import ALIASES, NAMED, POSITIONAL
from agent_memory.interfaces.moments import FORMS, Ambiguous, moment
from agent_memory.models.kinds.kind import typed_value

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # generic since click 8.4 only

MOST_BYTES = 64 * 1024 * 1024  # that are read from a pipe
PIPED = "text"  # a parameter of this name is read from a pipe when it is left out


def parameters(signature: Mapping[str, inspect.Parameter], operation: str = "") -> list[click.Parameter]:
    """Required texts and JSON values are positional, the rest are options, whose help depends on the operation."""
    made: list[click.Parameter] = []
    taken = {_dashed(name) for name in signature if not _repeated(name, signature)}
    for name, given in signature.items():
        if _repeated(name, signature):
            continue
        kind, _ = bare(given.annotation)
        item = bare(get_args(kind)[0])[0] if get_origin(kind) is list else None
        if f"{operation} {name}" in POSITIONAL:
            made.append(click.Argument([name], nargs=1 if item is None else -1, required=False))
            continue
        many = any(one.nargs == -1 for one in made)
        named = f"{operation} {name}" in NAMED
        argument = None if named or (item is str and many) else _argument(name, given, kind, item)
        words = [_dashed(name), *(alias for alias in ALIASES.get(name, ()) if alias not in taken)]
        single = kind if item is None else item
        made.append(argument or _option(words, given, single, explained(operation, name)))
        if named:  # that it is missing is said by `arguments`, after what was said without its name
            made[-1].required = False
        completing.teach(made[-1], operation)
    return made


def arguments(context: click.Context, signature: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """What was said, as the operation takes it; what was not said is left to its own default."""
    said: dict[str, Any] = {}
    for name, parameter in signature.items():
        value = context.params.get(name)
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


def _repeated(name: str, signature: Mapping[str, inspect.Parameter]) -> bool:
    """`kind` is not asked for where `kinds` says the same: the one option can be given several times."""
    many = signature.get(f"{name}s")
    return many is not None and get_origin(bare(many.annotation)[0]) is list and not _required(signature[name])


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _argument(name: str, given: inspect.Parameter, kind: Any, item: Any) -> click.Argument | None:
    """Something positional, or None if it is to be an option."""
    if not _required(given) or kind is bool:
        return None
    if item is str:
        return click.Argument([name], nargs=-1, required=True, type=TextType())
    if isinstance(reader(kind), TextType | JsonType):
        piped = {"default": _piped} if name == PIPED else {}
        return click.Argument([name], required=True, type=reader(kind), **piped)  # type: ignore[arg-type]
    return None


def _option(words: list[str], given: inspect.Parameter, kind: Any, about: str) -> click.Option:
    required = _required(given)
    if kind is bool:
        switch = f"{words[0]}/--no-{words[0].removeprefix('--')}"
        return click.Option([switch, given.name], default=None, required=required, help=_help(about, given, kind))
    return click.Option(
        [*words, given.name],
        type=click.STRING if kind is str else reader(kind),
        multiple=get_origin(bare(given.annotation)[0]) is list,
        required=required,
        help=_help(about, given, kind),
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
    return JsonType(kind)


class TextType(ParamType):
    """A text; `-` reads it from the standard input."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _stdin(self, param, ctx) if value == "-" else value


class MomentType(ParamType):
    """A moment in words, as the option of this name takes it."""

    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, datetime):
            return value
        try:
            return moment((param and param.name) or "", str(value), datetime.now().astimezone())
        except Ambiguous as error:
            self.fail(str(error), param, ctx)
        except (ValueError, OverflowError, OSError):
            self.fail(f"{value!r} is not a moment: use {FORMS}", param, ctx)


class Unfit(click.BadParameter):
    """A value that cannot be used, with a hint of its own."""

    def __init__(self, message: str, param: click.Parameter | None, ctx: click.Context | None, hint: str) -> None:
        super().__init__(message, ctx, param)
        self.hint = hint


AS_TEXT = "what begins with { is read as JSON; a text that begins so needs quotes of JSON around it"


class JsonType(ParamType):
    """A JSON value; `-` reads it from the standard input. What may be anything is text if it is not JSON, and does not
    begin as an object does."""

    name = "json"

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        text = _stdin(self, param, ctx) if value == "-" else value
        if self.kind is Any and not text.lstrip().startswith("{"):
            return typed_value(text)
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            hint = AS_TEXT if self.kind is Any else self._hint(text, param, ctx)
            raise Unfit(f"is not JSON: {error}", param, ctx, hint) from None
        wanted = shapes.plain(self.kind)
        if wanted in (dict, list) and not isinstance(found, wanted):
            said = f"must be a JSON {'object' if wanted is dict else 'list'}"
            raise Unfit(said, param, ctx, self._hint(text, param, ctx))
        return found

    def _hint(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """An example to copy: the whole command, where this is all it takes."""
        name = (param.name if param is not None else None) or ""
        value = shlex.quote(shapes.example(name, self.kind, text))
        if isinstance(param, click.Option):
            return f"for example {param.opts[0]} {value}"
        if ctx is not None and sum(isinstance(one, click.Argument) for one in ctx.command.params) == 1:
            return f"for example: {ctx.command_path} {value}"
        return f"{name.upper()} is for example {value}"


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
        reader.fail(f"the input is not UTF-8: {error.reason} at byte {error.start}", param, ctx)


def _help(about: str, given: inspect.Parameter, kind: Any) -> str:
    words, bracket, default = about.partition("  [default:")
    text = f"{words}; {shapes.json_shape(kind)}" if takes_json(kind) else words
    if given.default not in (given.empty, None) and not bracket:
        return f"{text}  [default: {_spelled(given.default)}]"
    return text + bracket + default


def takes_json(kind: Any) -> bool:
    return kind is not bool and isinstance(reader(kind), JsonType)


def _spelled(default: object) -> str:
    if isinstance(default, bool):
        return "yes" if default else "no"
    return str(default.value if isinstance(default, Enum) else default)
