"""The demo on a screen: calm, in colour where there is any, short enough to read."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import textwrap
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.cleaning import cut, one_line
from agent_memory.interfaces.cli.demo import asking
from agent_memory.interfaces.cli.demo.asking import Performance
from agent_memory.interfaces.cli.present import reasons
from agent_memory.models.answer import Hit

WIDEST = 100
INDENT = "   "


class Stage:
    """Lines of a few styles on a console."""

    def __init__(self, console: Console, present: datetime) -> None:
        self.console = console
        self.present = present
        self.width = min(console.width, WIDEST) if console.is_terminal else WIDEST

    def say(self, *parts: str | tuple[str, str]) -> None:
        """One line, cut where the screen ends."""
        line = Text.assemble(INDENT, *parts)
        line.truncate(self.width, overflow="ellipsis")
        self.console.print(line, soft_wrap=True)

    def heading(self, text: str) -> None:
        self.console.print()
        self.console.print(Text(text, "bold"), soft_wrap=True)

    def question(self, text: str) -> None:
        self.say((f"? {text}", "cyan"))

    def pair(self, name: str, text: str, note: str = "", style: str = "") -> None:
        self.say((f"{name:<18}", "dim"), (one_line(text), style), (f"  {note}" if note else "", "dim"))

    def hit(self, hit: Hit) -> None:
        ago = (self.present - hit.record.valid_from).days
        room = self.width - len(INDENT) - 7
        text = textwrap.wrap(cut(one_line(hit.text), 2 * room - 10), room)
        why = textwrap.wrap(f"{hit.kind}, {ago} days ago · {reasons(hit)}", room)
        for number, line in enumerate(text):
            self.say((f"{hit.relevance:4.2f}  " if number == 0 else "      ", "green"), line)
        for line in why:
            self.say((f"      {line}", "dim"))

    def command(self, text: str, note: str) -> None:
        self.console.print(Text.assemble(INDENT, (text, "green"), (f"  # {note}", "dim")), soft_wrap=True)


def show(done: Performance, stage: Stage) -> None:
    written = sum(done.stored.values())
    counted = ", ".join(f"{number} {what}" for what, number in done.stored.items() if what not in ("turns", "goals"))
    stage.heading("Four weeks of an engineer and an agent, stored on this machine, offline")
    stage.pair("stored", f"{done.stored['turns']} turns in {done.conversations} conversations")
    stage.pair("", counted)
    stage.pair("", f"{done.seconds['store']:.1f} s, {done.seconds['store'] / written * 1000:.0f} ms each, durable")

    stage.heading("1  Recall, and why")
    stage.question(asking.DEPLOYS)
    for hit in done.hits:
        stage.hit(hit)

    stage.heading("2  A fact that changed")
    stage.question(asking.STAGING)
    notes = {
        "now": "",
        "as of last week": "before the move",
        "known 5 days ago": "--as-of: not told yet",
        "true 5 days ago": "--valid-at: told later",
    }
    for name, claim in done.staging.items():
        style = "green" if claim == done.staging["now"] else "yellow"
        stage.pair(name, claim.removeprefix("The staging database runs on "), notes[name], style)

    stage.heading("3  What the engineer wants, and what worked")
    stage.question(asking.BRANCH)
    stage.pair("preference", done.preference, f"(once: {done.preference_before})", "green")
    stage.question(asking.ROLLOUT)
    stage.pair("strategy", done.worked, style="green")
    stage.pair("open goal", done.goal)
    _end(done, stage)


def _end(done: Performance, stage: Stage) -> None:
    gone, proof = done.forgetting, done.verification
    if gone is None or proof is None:
        return
    stage.heading("4  Forgetting, for real")
    stage.question(asking.DOOR)
    stage.pair("before", gone.found_before[0] if gone.found_before else "–", style="yellow")
    stage.pair("forget", f"{len(gone.ids)} records: the turn, and the fact that came from it alone")
    stage.pair("after", gone.found_after[0] if gone.found_after else "no hit holds it", style="green")
    stage.pair("in the file", f"{gone.bytes_before} times before, {gone.bytes_after} times after", style="green")

    stage.heading("5  Proof")
    counted = ", ".join(f"{number} {what}" for what, number in proof.checked.items())
    stage.pair("verify", f"{'ok' if proof.ok else 'PROBLEMS'}: {counted}", style="green" if proof.ok else "red")
    spent = {name: seconds * 1000 for name, seconds in done.seconds.items() if name != "store"}
    stage.pair("took", ", ".join(f"{name} {milliseconds:.0f} ms" for name, milliseconds in spent.items()))


def next_steps(stage: Stage, kept: str | None, user: str) -> None:
    stage.heading("Try next")
    program = command_to_type()
    if kept:
        there = f"{program} --user {user} --store {shlex.quote(kept)}"
        stage.command(f"{there} recall 'why did the deploys hang?' --why", "ask it yourself")
        stage.command(f"{there} list --kind fact --as-of 'last week'", "what it knew then")
        stage.command(f"{there} context 'the production upgrade'", "what an agent would be told")
    else:
        stage.command(f"{program} add 'Staging listens on port 5433'", "start your own")
        stage.command(f"{program} recall 'which port is staging on?' --why", "ask it, and see why")
        stage.command(f"{program} try", "or play with this story: a shell with a store of its own")
    stage.console.print()


def command_to_type() -> str:
    """The program as it can be called from here: by its name if the shell finds it, else by its path."""
    if shutil.which(PROGRAM):
        return PROGRAM
    folders = (Path(sys.argv[0]).absolute().parent, Path(sys.executable).parent)
    beside = shutil.which(PROGRAM, path=os.pathsep.join(map(str, folders)))
    if beside is None:
        return f"{_nearer(sys.executable)} -m {__name__.rsplit('.', 2)[0]}"
    return _nearer(beside)


def _nearer(path: str) -> str:
    """Relative to the working directory where that is shorter."""
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive
        return shlex.quote(path)
    relative = relative if os.sep in relative else os.path.join(os.curdir, relative)  # noqa: PTH118 - keeps the dot
    return shlex.quote(min(relative, path, key=len))
