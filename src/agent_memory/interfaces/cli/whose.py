"""Options that say whose memory it is, and where. They belong before the command, and are understood after it, too."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from types import MappingProxyType
from typing import Any, TypeVar

import click

from agent_memory.interfaces.cli.session import Session

F = TypeVar("F", bound=Callable[..., Any])

WHOSE = MappingProxyType(
    {
        "--user": ("TEXT", "Whose memory it is.  [default: AGENT_MEMORY_USER, or default]"),
        "--tenant": ("TEXT", "The wall around users.  [default: AGENT_MEMORY_TENANT, or default]"),
        "--conversation": ("ID", "The conversation whose working set to use."),
        "--agent": ("TEXT", "Use the memory of this agent, and what all agents share."),
        "--because": ("TEXT", "Why you read it, such as a ticket number: kept in the access log."),
        "--store": (
            "URL",
            "Where the memory is: the path of a file, postgresql://…, http://server, or unix:///socket.  "
            "[default: AGENT_MEMORY_STORE, or your own]",
        ),
    }
)


def before(function: F) -> F:
    """The options of the program itself."""
    for option, (metavar, help) in reversed(list(WHOSE.items())):
        function = click.option(option, metavar=metavar, help=help)(function)
    return function


def after(taken: Collection[str] = ()) -> list[click.Parameter]:
    """The same, hidden, for a command with parameters of its own, which win."""
    made: list[click.Parameter] = []
    for option in WHOSE:
        name = option.removeprefix("--")
        if name in taken:
            continue
        noted = _refuse if f"{name}_id" in taken else functools.partial(_note, name)
        made.append(click.Option([option, f"_{name}"], hidden=True, expose_value=False, callback=noted))
    return made


def anywhere(command: click.Command) -> click.Command:
    """For commands that are no operation."""
    command.params.extend(after([param.name or "" for param in command.params]))
    return command


def _note(name: str, context: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None and isinstance(context.obj, Session):
        setattr(context.obj, name, value)


def _refuse(context: click.Context, param: click.Parameter, value: str | None) -> None:
    """After `list` and the like, `--conversation` could mean two things."""
    if value is not None and not context.resilient_parsing:
        option = param.opts[0]
        raise click.UsageError(
            f"put {option} before the command to choose a working set; here, {option}-id is what is asked for", context
        )
