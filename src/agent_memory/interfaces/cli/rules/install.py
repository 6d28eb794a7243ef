"""`agent-memory rules install-hooks`: git hooks that ask the rules, beside those that are there already."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session


@whose.anywhere
@click.command("install-hooks", short_help="Install git hooks that stop what a rule denies")
@click.argument("folder", default=".", type=click.Path(path_type=Path))
@click.option("--uninstall", is_flag=True, help="remove them, and restore what was there before")
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(session: Session, /, folder: Path, **given: Any) -> int:
    """Install git hooks that stop what a rule denies: commits, messages, merges, rebases and pushes.

    Hooks that are there already stay and run first. Doing it again renews them; --uninstall puts everything back.
    FOLDER is any folder of the repository, by default this one. All worktrees of a repository share its hooks.
    Whoever installs them trusts the repository (see `rules trust`).
    """
    from agent_memory.app import trust
    from agent_memory.engines.git.hooks import install, uninstall
    from agent_memory.interfaces.cli import exits, output
    from agent_memory.interfaces.cli.blocks import Block, Note, Sentence
    from agent_memory.interfaces.cli.rules.trusting import TRUSTED

    removing = given["uninstall"]
    done = uninstall(folder) if removing else install(folder, sys.executable)
    begun = not removing and trust.begin(trust.TrustTarget(folder))
    if session.json or given["_json"]:
        said = {"folder": str(done.folder), "hooks": done.hooks, "before": done.before, "newly_trusted": begun}
        output.write_json(said)
        return exits.OK
    before = ", ".join(done.before)
    lines: list[Block] = [Sentence(f"{'removed' if removing else 'installed'} {name}") for name in done.hooks]
    if before:
        lines.append(Sentence(f"put back: {before}" if removing else f"run first, as before: {before}"))
    lines.append(Note(f"in {done.folder}" if done.hooks else f"nothing to remove in {done.folder}"))
    lines += [Note(TRUSTED)] if begun else []
    output.write(lines)
    return exits.OK
