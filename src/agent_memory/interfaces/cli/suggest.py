"""What somebody may have meant who typed a command that does not exist. Nothing that erases is proposed by chance."""

from __future__ import annotations

from collections.abc import Collection
from copy import copy
from types import MappingProxyType
from typing import Any

import click

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.examples import EXAMPLES

LIKELY, SURE = 0.6, 0.85  # how alike a word must be to a command, and to one that erases
MEANT = MappingProxyType(
    {
        "ask": "recall",
        "cat": "show",
        "change": "edit",
        "check": "verify",
        "delete": "forget",
        "erase": "forget",
        "find": "recall",
        "get": "show",
        "info": "stats",
        "log": "journal",
        "ls": "list",
        "new": "add",
        "put": "add",
        "query": "recall",
        "read": "show",
        "remove": "forget",
        "restore": "restore-memory",
        "rm": "forget",
        "save": "add",
        "search": "recall",
        "status": "stats",
        "store": "add",
        "update": "edit",
        "versions": "history",
        "view": "show",
        "write": "add",
    }
)
"""Words that other programs use -> ours."""

_FACTS = f"`{PROGRAM} learn CLAIM --subject … --predicate …` stores a fact that takes the place of the one before it"
ELSEWHERE = MappingProxyType({("add", option): _FACTS for option in ("--subject", "--predicate")})
"""Command and option -> what to type instead."""

ERASING = frozenset({MEANT["erase"], "scan"})


def meant(word: str, names: Collection[str]) -> str | None:
    """A command among `names`, by how the word, or one that means the same elsewhere, is spelled."""
    from difflib import SequenceMatcher

    known = {theirs: ours for theirs, ours in MEANT.items() if ours in names} | {name: name for name in names}
    alike = sorted((SequenceMatcher(None, word, theirs).ratio(), ours) for theirs, ours in known.items())
    return next((ours for ratio, ours in reversed(alike) if ratio >= (SURE if ours in ERASING else LIKELY)), None)


def other_option(error: click.NoSuchOption, command: click.Command, context: click.Context) -> click.UsageError:
    """What somebody may have meant by an option that a command does not have: none of those that its help hides."""
    shown = {name for param in command.params if not getattr(param, "hidden", False) for name in param.opts}
    near = [name for name in error.possibilities or [] if name in shown]
    said = f"there is no option {error.option_name}" + (f"; did you mean {' or '.join(near)}?" if near else "")
    told = click.UsageError(said, context)
    takes = [str(param.name) for param in command.params if isinstance(param, click.Argument)]
    elsewhere = ELSEWHERE.get((str(context.info_name), error.option_name))
    if elsewhere:
        told.hint = elsewhere  # type: ignore[attr-defined]
    elif takes and not near:
        usage = f"{context.command_path} {' '.join(name.upper() for name in takes)}"
        told.hint = f"type `{usage}`; `{context.command_path} --help` shows its options"  # type: ignore[attr-defined]
    return told


class HelpfulGroup(click.Group):
    """A group that says what may have been meant, and whose commands show an example in their help."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        word = args[0]
        found = self.get_command(ctx, word)
        if found is not None:
            return word, _with_example(found, f"{ctx.command_path} {word}"), args[1:]
        if not word.startswith("-") and not ctx.resilient_parsing:
            near = meant(word, self.list_commands(ctx))
            ctx.fail(f"there is no command {word!r}" + (f"; did you mean {near!r}?" if near else ""))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """An option without its value: click does not say of which command."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            found = self.get_command(ctx, ctx.invoked_subcommand or "")
            if error.ctx is None and found is not None:
                error.ctx = click.Context(found, parent=ctx, info_name=ctx.invoked_subcommand)
            raise


def _with_example(command: click.Command, path: str) -> click.Command:
    """A command whose help ends with a line to try, if there is one."""
    example = EXAMPLES.get(path.partition(" ")[2])
    if example is None:
        return command
    shown = copy(command)
    shown.epilog = "\n\n".join(filter(None, [f"\b\nFor example:\n  {PROGRAM} {example}", command.epilog]))
    return shown
