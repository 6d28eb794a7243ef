"""Commands from the table of operations. What is added to the table is a command, with no line here."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from importlib import import_module
from types import MappingProxyType
from typing import Any, get_type_hints

import click

from agent_memory.app.memory import AgentMemory
from agent_memory.app.operations import TABLE, Operation, Permission
from agent_memory.app.workplace import in_git
from agent_memory.interfaces.cli import (
    PROGRAM,
    audits,
    exits,
    forgetting,
    ids,
    journal,
    missing,
    options,
    output,
    progress,
    reviewing,
    shapes,
    spelling,
    suggest,
    vectors,
    whose,
)
from agent_memory.interfaces.cli.blocks import Note, Sentence
from agent_memory.interfaces.cli.cleaning import cut, one_line
from agent_memory.interfaces.cli.present import is_empty, present
from agent_memory.interfaces.cli.root import OWN, QUICK
from agent_memory.interfaces.cli.session import Session
from agent_memory.interfaces.moments import FORMS
from agent_memory.models.answer import Recalled
from agent_memory.models.errors import AgentMemoryError, InvalidInput, NotFound

JSON_HELP = "answer in JSON"
WRITTEN = MappingProxyType({"rules": {"lint": "agent_memory.interfaces.cli.rules.lint"}})
"""Commands of a namespace that are more than their operation: each is the `command` of a module of ours."""


ALONE: Mapping[str, str | Callable[[], None]] = MappingProxyType({"budget": "status", "review": reviewing.alone})
"""What the name of a namespace alone stands for: one of its commands, or something of its own."""


def dashed(name: str) -> str:
    return name.replace("_", "-")


@functools.cache
def top() -> dict[str, Operation]:
    """Commands without a namespace: short names, and operations whose name has no dot."""
    found = {dashed(name): operation for name, operation in TABLE.items() if "." not in name}
    short = {operation.command: operation for operation in TABLE.values() if operation.command}
    found |= {name: operation for name, operation in short.items() if name not in OWN}
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
    owners = [_owner(operation) for operation in methods.values()]
    whole = max(owners, key=lambda owner: len(owner.__mro__))  # the class that takes the others in
    about = " ".join(((whole.__doc__ if whole is not object else None) or name).split("\n\n")[0].split())
    made = suggest.HelpfulGroup(
        name, help=about, short_help=about, invoke_without_command=True, callback=functools.partial(_alone, name)
    )
    made.params.extend(whose.after())
    for method, operation in methods.items():
        made.add_command(command(method, operation))
    for method, module in {**WRITTEN.get(name, {}), **QUICK.get(name, {})}.items():
        made.add_command(import_module(module).command, method)
    return made


def _owner(operation: Operation) -> type:
    """The class that declares it; of what is declared outside of one nothing is told."""
    function = operation.function
    owner = getattr(sys.modules[function.__module__], function.__qualname__.split(".")[0], None)
    return owner if isinstance(owner, type) else object


def _alone(name: str) -> None:
    """A namespace without a command says what there is, or does what it is mostly asked for."""
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        return
    match ALONE.get(name):
        case str(command) if isinstance(context.command, click.Group):
            context.invoke(context.command.commands[command])
        case Callable() as own:
            own()
        case _:
            click.echo(context.get_help())


class HelpfulCommand(click.Command):
    """A command that says what to do about words too many, and about options that it does not have."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given, ctx.allow_extra_args = list(args), True
        try:
            rest = super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise suggest.other_option(error, self, ctx) from None
        if rest and not ctx.resilient_parsing:
            raise _too_many(ctx, rest, given)
        return rest


def _too_many(context: click.Context, rest: list[str], given: list[str]) -> click.UsageError:
    """Somebody forgot quotes, most likely."""
    if context.info_name == "remember":
        return _two_meanings(context, " ".join(rest))
    takes = [param for param in context.command.params if isinstance(param, click.Argument)]
    names = " ".join(str(param.name).upper() + ("..." if param.nargs == -1 else "") for param in takes)
    extra = " ".join(repr(one_line(word)) for word in rest)
    error = click.UsageError(f"{context.info_name} takes {names or 'no arguments'}: unexpected {extra}", context)
    texts = [param for param in takes if not str(param.name).endswith("id")]
    if not texts:
        return error
    words = [context.params[str(takes[0].name)], *rest]
    if len(takes) == 1 and isinstance(words[0], str) and words[0] in given:
        said = shlex.quote(cut(one_line(" ".join(words)), 200))
        hint = f"quote a text of several words: {context.command_path} {said}"
    else:
        hint = f"quote what has several words: {context.command_path} {names}"
    error.hint = hint  # type: ignore[attr-defined]
    return error


def _two_meanings(context: click.Context, text: str) -> click.UsageError:
    """Nobody can tell whether `remember TEXT` is to store it or to look it up, and a pipe cannot be asked."""
    said = shlex.quote(cut(one_line(text), 200))
    error = click.UsageError("`remember` could mean to store this or to look it up; nothing was done", context)
    error.hint = (  # type: ignore[attr-defined]
        f"to store it: {PROGRAM} add {said}; to look it up: {PROGRAM} recall {said}; "
        f"a bundle for a prompt: {PROGRAM} remember --query {said}"
    )
    return error


def command(name: str, operation: Operation) -> click.Command:
    params = options.parameters(operation.signature, operation.name)
    dated = any(isinstance(param.type, options.MomentType) for param in params)
    return HelpfulCommand(
        name,
        callback=functools.partial(_run, operation),
        params=[*params, *_flags(operation), *whose.after(operation.signature)],
        help=_about(operation, params),
        short_help=operation.summary.split(". ")[0].rstrip("."),
        epilog=f"A MOMENT is {FORMS}." if dated else None,
    )


def _about(operation: Operation, params: list[click.Parameter]) -> str:
    """The docstring, and what its arguments look like where that is not plain."""
    said = [" ".join(part.split()) for part in (operation.function.__doc__ or operation.name).split("\n\n")]
    for param in params:
        if isinstance(param, click.Argument) and isinstance(param.type, options.JsonType):
            said.append(f"{str(param.name).upper()} is {shapes.json_shape(param.type.kind)}.")
        elif isinstance(param, click.Argument) and param.nargs == -1:
            said.append(f"{str(param.name).upper()}: one or more, with spaces between them.")
    return "\n\n".join(said)


def _flags(operation: Operation) -> list[click.Parameter]:
    """Flags that change how a result is shown, never what is done."""
    flags: list[click.Parameter] = [click.Option(["--json", "_json"], is_flag=True, help=JSON_HELP)]
    if _gives(operation) is Recalled:
        flags.append(click.Option(["--why", "_why"], is_flag=True, help="say for each hit why it was found"))
    if placed := _placed(operation):
        said = "prefer no repository" if placed == NEAR else "of no repository"
        flags.append(click.Option(["--global", "_global"], is_flag=True, help=f"{said}, wherever you are"))
    if operation.name in QUESTIONS:
        flags.append(click.Option(["--yes", "_yes"], is_flag=True, help="do not ask"))
    return flags


def _gives(operation: Operation) -> Any:
    return get_type_hints(operation.function).get("return")


def _run(operation: Operation, **given: Any) -> int:
    context = click.get_current_context()
    try:
        return _ran(operation, context, given)
    except AgentMemoryError as error:
        spelling.as_typed(error, operation.name, context.command.params)
        raise


def _ran(operation: Operation, context: click.Context, given: dict[str, Any]) -> int:
    session: Session = context.obj
    said = {**TYPED.get(operation.name, {}), **options.arguments(context, operation.signature)}
    _check_order(said)
    placed = _placed(operation)
    if given.get("_global") or {"repository", placed} & said.keys() or not (here := placed and in_git()):
        placed = None
    else:
        said[placed] = here
    in_json = session.json or given["_json"]
    nothing = Note("nothing")
    with session.memory(creates=_creates(operation, said), files=operation.here) as memory:
        try:
            said = ids.resolved(memory, operation.name, said)
            if operation.name in QUESTIONS and not given["_yes"]:
                QUESTIONS[operation.name](memory, said)
            with progress.shown(in_json=in_json):
                result = _asked(memory, operation, said, placed)
        except NotFound as error:
            told = missing.explained(error, memory, said)
            told.trace_id = error.trace_id
            raise told from error
        if not in_json and not operation.here and sys.stdout.isatty() and is_empty(result):
            nothing = Note(missing.nothing(memory))
    if in_json:
        if not output.write_json(result, {name: said[name] for name in LOOKED if name in said}):
            output.write(_looked(said), stderr=True)
    else:
        output.write(_looked(said), stderr=not sys.stdout.isatty())
        output.write(present(operation, result, why=given.get("_why", False), nothing=nothing))
        if (noted := vectors.noted(result)) and not sys.stdout.isatty():  # where no remark tells it
            output.write_error("note:", noted, "dim")
    return exits.PROBLEMS if getattr(result, "ok", True) is False else exits.OK


def _asked(memory: AgentMemory, operation: Operation, said: dict[str, Any], placed: str | None) -> Any:
    """What it answers. A server that is older than this may refuse the repository, which nobody said: it is asked
    without it."""
    ask = ASKED.get(operation.name) or (lambda memory, said: memory._client.ask(operation.name, said))
    try:
        return ask(memory, said)
    except InvalidInput as error:
        if placed is None or error.field != placed:
            raise
    return ask(memory, {name: value for name, value in said.items() if name != placed})


def _placed(operation: Operation) -> str | None:
    """The argument that is the repository of the working directory, where nobody says otherwise: of a search, the one
    that it prefers; of what is written, the one that it belongs to."""
    if NEAR in operation.signature:
        return NEAR
    writes = operation.permission is Permission.WRITE and not operation.erases and operation.name not in EVERYWHERE
    return "repository" if writes and "repository" in operation.signature else None


def _looked(said: dict[str, Any]) -> list[Sentence]:
    """The moments at which a read looked: words such as "last tuesday" had to be taken for one."""
    return [
        Sentence(f"{words} {output.shown(said[name], iso=True)}", "dim")
        for name, words in LOOKED.items()
        if name in said
    ]


def _creates(operation: Operation, said: dict[str, Any]) -> bool:
    """Whether something new can come of it. Reads, proofs, and changes of what must be there already do not need a
    store that is made for them."""
    if operation.name == "user.sync":
        return not said.get("dry_run")
    if operation.here:
        return operation.permission is Permission.WRITE
    if operation.name in ("models.ask", "budget.set"):  # the call is counted, the budget kept
        return True
    stores = operation.permission not in (Permission.READ, Permission.OPERATOR) and not operation.erases
    method, _, path = operation.route.partition(" ")
    of_old = "{" in path if method == "POST" else path.startswith("/records/{")
    return stores and method in ("POST", "PUT") and not of_old


def _check_order(said: dict[str, Any]) -> None:
    after, before = said.get("after"), said.get("before")
    if isinstance(after, datetime) and isinstance(before, datetime) and after > before:
        raise InvalidInput(
            f"after: {output.shown(after)} is later than before: {output.shown(before)}",
            hint="nothing can be between them: give --after the earlier moment",
            field="after",
        )


QUESTIONS: dict[str, Callable[[AgentMemory, dict[str, Any]], None]] = {
    "records.forget": forgetting.confirm,
    "records.forget_where": forgetting.confirm,
    "blocks.delete": forgetting.confirm_block,
    "tenants.erase": forgetting.confirm_tenant,
    "govern.scan": forgetting.confirm_scan,
}
"""Operations that are confirmed at a terminal, with the question."""

LOOKED = {"valid_at": "what held at", "as_of": "what was known at"}
"""The moments at which a read looks."""

EVERYWHERE = frozenset({"user.set_preference"})  # what holds in all repositories, unless somebody names one
NEAR = "near_repository"

TYPED: dict[str, dict[str, Any]] = {"semantic.learn_fact": {"source": "user_stated"}}
"""What an argument is where somebody types the command, and leaves it out."""

ASKED: dict[str, Callable[[AgentMemory, dict[str, Any]], Any]] = {
    "govern.audit": audits.asked,
    "records.journal": journal.latest,
}
"""Operations whose default suits a program and not a person."""
