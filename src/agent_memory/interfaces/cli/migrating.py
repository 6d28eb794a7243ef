"""`agent-memory migrate`: everything of a store into another one, on any engine, or into a file and out of one."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.app.migrating import Migrated


@whose.anywhere
@click.command("migrate", short_help="Copy a store with its whole history to another engine, or to a file")
@click.argument("source", metavar="FROM", required=False)
@click.argument("target", metavar="TO", required=False)
@click.option("--abandon", metavar="TO", help="empty a store that was only partly filled, and give up")
@click.option("--json", "_json", is_flag=True, help="print a JSON object for each section, even at a terminal")
@click.pass_obj
def command(session: Session, source: str | None, target: str | None, abandon: str | None, _json: bool) -> int:
    """Copy everything in a store into another one, which must be empty: records with all their versions, links,
    journals with their chains, vectors, receipts, keys, working sets and the rest. Leases of jobs stay behind.

    FROM and TO are each the path of a SQLite file, a URL (postgresql://…), or a file that ends in .jsonl, which holds
    all of it as JSON Lines. With --tenant, that tenant alone, into a store of its own.

    Stop what writes to FROM first. A record that is written or forgotten meanwhile is noticed; a change to what no
    journal tells of is not, and stays behind: working sets, vectors in namespaces and their scores, receipts, access
    counts, refused calls.

    If it is stopped or killed, run the same command again: it continues where it was. Until it is done, nobody else can
    use TO. At the end both are compared, row by row and by random reads, and TO is verified.
    """
    from agent_memory.app import migrating
    from agent_memory.interfaces.cli import exits, output, progress
    from agent_memory.interfaces.cli.blocks import Sentence

    in_json = session.json or _json or not sys.stdout.isatty()
    if abandon is not None:
        if source is not None:
            raise click.UsageError("--abandon takes the store that it empties, and nothing else")
        migrating.abandon(abandon)
        output.write_json({"abandoned": True}) if in_json else output.write([Sentence("emptied; it can be used again")])
        return exits.OK
    if source is None or target is None:
        raise click.UsageError("migrate takes two stores: FROM and TO")
    with progress.shown(in_json=in_json):
        done = migrating.migrate(source, target, tenant=session.tenant, told=_in_json if in_json else _unseen)
    if in_json:
        click.echo(json.dumps({"done": asdict(done)}))
    else:
        _summary(done)
    return exits.OK


def _in_json(section: str, rows: int) -> None:
    click.echo(json.dumps({"section": section, "rows": rows}))


def _unseen(section: str, rows: int) -> None:
    """At a terminal there is a bar."""


def _summary(done: Migrated) -> None:
    from agent_memory.interfaces.cli import output
    from agent_memory.interfaces.cli.blocks import Block, Card, Sentence
    from agent_memory.models.size import counted

    rows = [(name.replace("_", " "), f"{count:,}") for name, count in done.rows.items() if count]
    heads = [(f"head of {name or 'the store'}", head) for name, head in sorted(done.heads.items())]
    whose = "" if done.tenant is None else f"tenant {done.tenant} of "
    said: list[Block] = [
        Sentence(f"{whose}{done.source} is in {done.target} now ({done.seconds:.1f} s)", "green"),
        Card([*rows, *heads[:20]]),
    ]
    if done.resumed:
        said.append(Sentence(f"{counted(done.resumed, 'row')} were there from a run before"))
    if done.compared:
        said.append(Sentence(f"proved the same: every row, every chain, and {counted(done.compared, 'read')} of both"))
    output.write(said)
