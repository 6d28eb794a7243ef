"""Commands from the table of operations. What is added to the table is a command, with no line here."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any, get_type_hints

import click

import agent_memory.app.namespaces  # noqa: F401 - fills the table
from agent_memory.app.memory import AgentMemory
from agent_memory.app.operations import TABLE, Operation
from agent_memory.interfaces.cli import exits, options, output
from agent_memory.interfaces.cli.cleaning import cut, one_line
from agent_memory.interfaces.cli.moments import FORMS, MomentType
from agent_memory.interfaces.cli.present import present
from agent_memory.interfaces.cli.session import Session
from agent_memory.models.answer import Recalled

JSON_HELP = "answer in JSON"


def dashed(name: str) -> str:
    return name.replace("_", "-")


@functools.cache
def top() -> dict[str, Operation]:
    """Commands without a namespace: short names, and operations whose name has no dot."""
    found = {dashed(name): operation for name, operation in TABLE.items() if "." not in name}
    found |= {operation.command: operation for operation in TABLE.values() if operation.command}
    return dict(sorted(found.items()))


@functools.cache
def namespaces() -> dict[str, dict[str, Operation]]:
    """Namespace -> method -> operation, with dashes."""
    found: dict[str, dict[str, Operation]] = {}
    for name, operation in TABLE.items():
        namespace, dot, method = name.partition(".")
        if dot:
            found.setdefault(dashed(namespace), {})[dashed(method)] = operation
    return dict(sorted(found.items()))


def group(name: str) -> click.Group:
    """A namespace; its help is the docstring of its class."""
    methods = namespaces()[name]
    function = next(iter(methods.values())).function
    owner = getattr(sys.modules[function.__module__], function.__qualname__.split(".")[0], None)
    about = (getattr(owner, "__doc__", None) or name).split("\n\n")[0].replace("\n", " ")
    made = click.Group(name, help=about, short_help=about, invoke_without_command=True, callback=_say_what_there_is)
    for method, operation in methods.items():
        made.add_command(command(method, operation))
    return made


def _say_what_there_is() -> None:
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def command(name: str, operation: Operation) -> click.Command:
    params = options.parameters(operation.signature)
    dated = any(isinstance(param.type, MomentType) for param in params)
    return click.Command(
        name,
        callback=functools.partial(_run, operation),
        params=[*params, *_flags(operation)],
        help=_about(operation),
        short_help=operation.summary.split(". ")[0].rstrip("."),
        epilog=f"A MOMENT is {FORMS}." if dated else None,
    )


def _about(operation: Operation) -> str:
    """The docstring, and what its JSON arguments look like."""
    said = [" ".join(part.split()) for part in (operation.function.__doc__ or operation.name).split("\n\n")]
    for name, given in operation.signature.items():
        kind, optional = options.bare(given.annotation)
        if given.default is given.empty and not optional and options.takes_json(kind):
            said.append(f"{name.upper()} is {options.json_shape(kind)}.")
    return "\n\n".join(said)


def _flags(operation: Operation) -> list[click.Parameter]:
    """Flags that change how a result is shown, never what is done."""
    flags: list[click.Parameter] = [click.Option(["--json", "_json"], is_flag=True, help=JSON_HELP)]
    if _gives(operation) is Recalled:
        flags.append(click.Option(["--why", "_why"], is_flag=True, help="say for each hit why it was found"))
    if operation.name in QUESTIONS:
        flags.append(click.Option(["--yes", "_yes"], is_flag=True, help="do not ask"))
    return flags


def _gives(operation: Operation) -> Any:
    return get_type_hints(operation.function).get("return")


def _run(operation: Operation, **given: Any) -> int:
    context = click.get_current_context()
    session: Session = context.obj
    said = options.arguments(context, operation.signature)
    with session.memory() as memory:
        if operation.name in QUESTIONS and not given["_yes"]:
            QUESTIONS[operation.name](memory, said)
        result = attrgetter(operation.name)(memory)(**said)
    if session.json or given["_json"]:
        output.write_json(result)
    else:
        output.write(present(operation, result, why=given.get("_why", False)))
    return exits.PROBLEMS if getattr(result, "ok", True) is False else exits.OK


def _erasing(memory: AgentMemory, said: dict[str, Any]) -> None:
    """Show what would go, and ask."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError("this erases for ever, and nobody is here to ask: pass --yes")
    for id in said["ids"]:
        last = memory.records.history(id)[-1]
        click.echo(f"  {last.kind}  {cut(one_line(last.text), 100)}", err=True)
    click.confirm(f"Erase {len(said['ids'])} for ever, and what was derived from it alone?", abort=True, err=True)


QUESTIONS: dict[str, Callable[[AgentMemory, dict[str, Any]], None]] = {"records.forget": _erasing}
"""Operations that are confirmed at a terminal."""
