"""`agent-memory upgrade`: bring a file of an older version to this one, also where its journal is broken."""

from __future__ import annotations

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session


@whose.anywhere
@click.command("upgrade", short_help="Upgrade a store of an older version; other commands do so, too")
@click.option("--accept-damage", is_flag=True, help="go on where the journal of a 0.1 store is broken, and note that")
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(session: Session, accept_damage: bool, _json: bool) -> int:
    """Upgrade a store of an older version. Every other command does so on its own.

    In a new PostgreSQL database it creates the tables. There, run it as the role that is to own them.

    A store of 0.1 whose journal is broken is refused: what was changed by another hand would be sealed anew. Where
    there is no backup, --accept-damage goes on. Which lines were broken is written into the store's own journal, and
    `verify` tells of them from then on.
    """
    from agent_memory.app import config
    from agent_memory.app.upgrading import upgrade
    from agent_memory.interfaces.cli import exits, output, progress
    from agent_memory.interfaces.cli.blocks import Sentence

    with progress.shown(in_json=session.json or _json):
        done = upgrade(config.load(store=session.store).store_url, accept_damage=accept_damage)
    if session.json or _json:
        output.write_json(done)
    elif done.before == done.after:
        output.write([Sentence(f"{done.store} has version {done.after} already")])
    elif done.before == 0:
        output.write([Sentence(f"{done.store}: created, version {done.after}", "green")])
    else:
        output.write([Sentence(f"{done.store}: upgraded from version {done.before} to {done.after}", "green")])
    return exits.OK
