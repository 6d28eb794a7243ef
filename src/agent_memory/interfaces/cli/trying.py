"""`agent-memory try`: a store of its own to play with, thrown away afterwards."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.session import Session

SAID = (
    "a store of its own, with four weeks of an engineer and an agent; `exit` throws it away",
    f"{PROGRAM} recall 'why did the deploys time out?'",
    f"{PROGRAM} add 'whatever you like', then {PROGRAM} forget @last",
)
EMPTY = ("an empty store of its own; `exit` throws it away", SAID[-1])


@click.command(
    "try",
    short_help="Play with a store of its own, thrown away afterwards",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--empty", is_flag=True, help="start empty, without the story of `demo`")
@click.pass_obj
def command(session: Session, command: tuple[str, ...], empty: bool) -> int:
    """Play with a store of its own: a shell in which agent-memory knows the story of `demo`, and nothing of yours.

    When the shell ends, the store is deleted. With a COMMAND, only that runs in it: a command of agent-memory, such as
    `recall`, or any other program.
    """
    from agent_memory.interfaces.cli import output, suggest
    from agent_memory.interfaces.cli.root import root

    shell = os.environ.get("SHELL") or os.environ.get("COMSPEC") or "/bin/sh"
    if not command and not (sys.stdin and sys.stdin.isatty()):
        raise click.UsageError(f"there is no terminal to type at: name a command, such as `{PROGRAM} try list`")
    from agent_memory.interfaces.cli.demo import USER, place, story

    with place(None) as store:
        if not empty:
            with story(store) as told:
                for _ in told.tell():
                    pass
        for line in () if command or session.json else EMPTY if empty else SAID:
            output.write_error("try:", line, "cyan")
        environment = {**os.environ, "AGENT_MEMORY_STORE": f"sqlite:///{store}", "AGENT_MEMORY_USER": USER}
        environment["PATH"] = _findable(environment.get("PATH", os.defpath))
        ours = root.list_commands(click.get_current_context())
        own = [sys.executable, "-m", "agent_memory.interfaces.cli"] if command and command[0] in ours else []
        words = [*own, *command] or [shell]
        try:
            return subprocess.call(words, env=environment)  # noqa: S603 - what somebody typed, as they typed it
        except OSError as error:
            near = suggest.meant(words[0], ours)
            did = f"; did you mean `{PROGRAM} try {near}`?" if near else ""
            raise click.UsageError(f"{words[0]}: cannot be run: {error.strerror}{did}") from None


def _findable(path: str) -> str:
    """Where the program lies is looked into first, so that it can be typed as it is called."""
    if shutil.which(PROGRAM, path=path):
        return path
    beside = {str(Path(place).absolute().parent): None for place in (sys.argv[0], sys.executable)}
    return os.pathsep.join([*beside, path])
