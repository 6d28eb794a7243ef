"""`agent-memory` itself: options before the command, and commands that are found when they are needed."""

from __future__ import annotations

import gc
from importlib import import_module
from types import MappingProxyType
from typing import Any

import click
from click.shell_completion import CompletionItem

from agent_memory import __version__
from agent_memory.interfaces.cli import suggest, whose
from agent_memory.interfaces.cli.listing import listed
from agent_memory.interfaces.cli.session import Session

OWN = MappingProxyType(
    {
        "chat": "agent_memory.interfaces.cli.chat",
        "demo": "agent_memory.interfaces.cli.demo",
        "doctor": "agent_memory.interfaces.cli.doctor",
        "forget": "agent_memory.interfaces.cli.forgetting",
        "export": "agent_memory.interfaces.cli.exporting",
        "guard": "agent_memory.interfaces.cli.guard",
        "import": "agent_memory.interfaces.cli.intake",
        "import-mcp": "agent_memory.interfaces.cli.importing",
        "mcp": "agent_memory.interfaces.cli.mcp",
        "migrate": "agent_memory.interfaces.cli.migrating",
        "serve": "agent_memory.interfaces.cli.serve",
        "try": "agent_memory.interfaces.cli.trying",
        "upgrade": "agent_memory.interfaces.cli.upgrading",
        "worker": "agent_memory.interfaces.cli.worker",
    }
)
"""Commands that are no operation: each is the `command` of a module of ours."""

QUICK = MappingProxyType(
    {
        "rules": {
            "check": "agent_memory.interfaces.cli.rules.check",
            "git-hook": "agent_memory.interfaces.cli.rules.githook",
            "hook": "agent_memory.interfaces.cli.rules.hook",
            "install-hooks": "agent_memory.interfaces.cli.rules.install",
        }
    }
)
"""Commands of a namespace that stand in the way of something, and so must not take long: each is the `command` of a
module of ours, which is loaded without the table of operations."""


GROUPS = MappingProxyType(
    {
        "Start here": ("try", "demo", "add", "recall", "list", "show", "context", "chat"),
        "Write and correct": ("learn", "extract", "prefer", "sync", "edit", "amend", "forget"),
        "Look closer": (
            "history",
            "why",
            "journal",
            "audit",
            "preferences",
            "whoami",
            "remember",
            "recipes",
            "receipt",
            "feedback",
            "replay",
        ),
        "Keep or let go": ("pin", "unpin", "pins", "prune", "restore-memory"),
        "For agents and programs": ("mcp", "serve", "worker", "guard"),
        "Move and keep": (
            *("export", "import", "import-mcp", "migrate"),
            *("stats", "doctor", "verify", "scan", "rebuild", "jobs", "upgrade"),
        ),
    }
)
"""How the help of the whole is arranged. What is in no group comes after them."""
WIDEST = 10_000  # columns of help: as many as the terminal has


class Quick(suggest.HelpfulGroup):
    """A namespace whose quick commands are found without the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return self._whole().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = QUICK[str(self.name)].get(cmd_name)
        if module is None:
            return self._whole().get_command(ctx, cmd_name)
        quick: click.Command = import_module(module).command
        return quick

    def get_help(self, ctx: click.Context) -> str:
        return self._whole().get_help(ctx)

    def get_short_help_str(self, limit: int = 45) -> str:
        return self._whole().get_short_help_str(limit)

    def _whole(self) -> click.Group:
        from agent_memory.interfaces.cli import commands

        return commands.group(str(self.name))


def _help_alone() -> None:
    context = click.get_current_context()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class Root(suggest.HelpfulGroup):
    """Commands come from the table of operations, which is loaded when the first of them is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return listed().names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in OWN:
            own: click.Command = import_module(OWN[cmd_name]).command
            return own
        if cmd_name in QUICK:
            return Quick(cmd_name, invoke_without_command=True, callback=_help_alone, params=whose.after())
        from agent_memory.app.operations import TABLE
        from agent_memory.interfaces.cli import commands

        name = listed().operations.get(cmd_name)
        operation = commands.top().get(cmd_name) if name is None else TABLE[name]
        if operation is not None:
            return commands.command(cmd_name, operation)
        return commands.group(cmd_name) if cmd_name in commands.namespaces() else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listing = listed()
        grouped = {name for names in GROUPS.values() for name in names}
        sections = {title: [name for name in names if name in listing.commands] for title, names in GROUPS.items()}
        sections["More"] = [name for name in listing.commands if name not in grouped]
        sections["Every operation, by namespace"] = list(listing.namespaces)
        widest = max(len(name) for names in sections.values() for name in names)
        for title, names in sections.items():
            if not names:
                continue
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{widest}}", listing.about(name)) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in listed().names() if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=listed().about(name)) for name in names), *options]


SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": WIDEST}


@click.group(cls=Root, invoke_without_command=True, context_settings=SETTINGS)
@whose.before
@click.option("--json", is_flag=True, help="Answer in JSON, including errors. Every command has this option, too.")
@click.option("--debug", is_flag=True, envvar="AGENT_MEMORY_DEBUG", help="Show a traceback for unexpected errors.")
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.pass_context
def root(ctx: click.Context, /, **given: Any) -> None:
    """Long-term memory for agents: local, exact, explainable.

    --user, --tenant, --conversation, --agent, --because and --store are understood after a command, too.

    Moments (--as-of, --valid-at, --after …) are ISO 8601, taken as local time if they name no zone, or words such as
    `yesterday`, `last monday`, `2 days ago` and `2d`.
    """
    if not gc.isenabled():  # the command is loaded, and nothing of it is looked through for garbage
        gc.freeze()
        gc.enable()
    session: Session = ctx.obj
    given["json"] = given["json"] or session.json
    for name, value in given.items():
        setattr(session, name, value)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
