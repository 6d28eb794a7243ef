"""`agent-memory guard -- git merge main`: run a command only if no rule denies it. The command takes our place, so that
its exit status, its signals and its terminal are its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click

from agent_memory.interfaces.cli import whose

UNKNOWN, DENIED, MISSING = 125, 126, 127
SHELL = "/bin/sh"


@whose.anywhere
@click.command(
    "guard",
    short_help="Run a command only if no rule denies it",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.option("--shell", "line", metavar="LINE", help="a line for /bin/sh instead of the words of a command")
def command(words: tuple[str, ...], line: str | None) -> int:
    """Run a command only if no rule denies it.

    What follows is run as it stands, without a shell; --shell runs a line with /bin/sh. Exits as the command does; with
    126 if a rule denies it, with 125 if that cannot be determined (a page, or git, cannot be read), with 127 if there
    is no such command.
    """
    if bool(words) == (line is not None):
        raise click.UsageError("name a command after --, or a line with --shell")
    if not _allowed(words, line):
        return DENIED
    return _run([SHELL, "-c", line] if line is not None else list(words))


def _allowed(words: tuple[str, ...], line: str | None) -> bool:
    """Whatever goes wrong here, the command does not run: statuses of ours cannot be mistaken for the command's."""
    from agent_memory.app.checking import verdict
    from agent_memory.interfaces.cli import output
    from agent_memory.interfaces.cli.rules import saying
    from agent_memory.models.rules import Action

    try:
        found = verdict(Action(command=line) if line is not None else Action(argv=words), Path.cwd())
    except Exception as error:  # noqa: BLE001 - a door: whatever it is, the command must not run
        click.echo(f"error: not run, because it cannot be determined whether it is allowed: {error}", err=True)
        raise click.exceptions.Exit(UNKNOWN) from None
    output.write(saying.blocks(found), stderr=True)
    return found.allowed


def _run(argv: list[str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        if os.name == "posix":
            os.execvp(argv[0], argv)  # noqa: S606 - the point of it: exactly these words, and no shell
        return subprocess.run(argv, check=False).returncode  # noqa: S603 - the same
    except FileNotFoundError:
        click.echo(f"error: there is no command {argv[0]!r}", err=True)
        return MISSING
    except (OSError, ValueError) as error:
        click.echo(f"error: {argv[0]!r} cannot be run: {error}", err=True)
        return DENIED
