"""Errors name what was typed: `--lease-seconds` for the argument `lease_seconds` of the operation behind a command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from agent_memory.models.errors import AgentMemoryError

_WORD = re.compile(r"(?<![\w'\"./`-])(`?)([a-z]+(?:_[a-z]+)*)(`?)(?![\w'\"/`-])")


def as_typed(error: AgentMemoryError, operation: str, params: Sequence[click.Parameter]) -> None:
    """Spell the arguments that an error names as this command takes them. Words of ordinary English are meant as
    arguments only at the beginning of a message, or in backticks."""
    names = {name: _typed(param, name) for param in params for name in _names(param)}
    head, colon, rest = error.message.partition(": ")
    first, dot, inner = head.removeprefix(f"{operation}.").partition(".")
    if first[:1].isupper():  # a model that is made from the arguments
        first, dot, inner = inner.partition(".")
    if colon and first in names:
        error.message = f"{names[first]}{dot}{inner}: {_spelled(rest, names)}"
    else:
        error.message = _spelled(error.message, names)
    error.hint = _spelled(error.hint, names)


def _names(param: click.Parameter) -> list[str]:
    """What errors call it: one of several `kinds` is a `kind`."""
    name = param.name or ""
    if name.startswith("_"):
        return []
    return [name, name.removesuffix("s")] if param.multiple or param.nargs == -1 else [name]


def _typed(param: click.Parameter, name: str) -> str:
    if not isinstance(param, click.Option):
        return param.human_readable_name
    own = f"--{name.replace('_', '-')}"
    return own if own in param.opts else param.opts[0]


def _spelled(said: str, names: Mapping[str, str]) -> str:
    def typed(found: re.Match[str]) -> str:
        before, name, after = found.groups()
        meant = name in names and ("_" in name or (before and after))
        return f"{before}{names[name]}{after}" if meant else found[0]

    return _WORD.sub(typed, said)
