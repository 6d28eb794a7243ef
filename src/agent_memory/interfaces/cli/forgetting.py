"""`agent-memory forget`: the records that are named, or all of a conversation, a kind or a repository."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from agent_memory.interfaces.cli import completing, whose
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory

ASKED = "and what was derived from it alone?"
WHERE = ("conversation_id", "kinds", "repository")


@whose.anywhere
@click.command("forget", short_help="Erase records for real: by id, or all of a conversation, kind or repository")
@click.argument("ids", nargs=-1, shell_complete=completing.ids)
@click.option("--conversation-id", metavar="ID", help="all of this conversation")
@click.option("--kind", "kinds", multiple=True, shell_complete=completing.kinds, help="all of this kind (repeatable)")
@click.option("--repository", metavar="NAME", help="all of this repository")
@click.option("--dry-run", is_flag=True, help="only say what would go")
@click.option("--reason", help="why, for the journal")
@click.option("--yes", is_flag=True, help="do not ask")
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(session: Session, /, **given: Any) -> int:
    """Erase records for real, with what was derived from them alone: rows, words, vectors, links, receipts.

    IDS are ids, or how they begin, or @last. Instead of them, --conversation-id, --kind and --repository choose all
    records of yours to which everything that is given applies, archived ones included.
    """
    from agent_memory.interfaces.cli import exits, ids, output
    from agent_memory.interfaces.cli.present import PRESENTERS

    where = {name: given[name] for name in WHERE if given[name]}
    if bool(where) is bool(given["ids"]):
        raise click.UsageError("name ids, or say which by --conversation-id, --kind or --repository")
    if not given["yes"] and not given["dry_run"] and (sys.stdin is None or not sys.stdin.isatty()):
        raise click.UsageError(
            "this erases permanently, and there is no terminal to ask at: pass --yes, or look with --dry-run"
        )
    with session.memory() as memory:
        if where:
            result = _sweep(memory, {**where, "kinds": list(given["kinds"]) or None}, given)
        else:
            named = ids.resolved(memory, "records.forget", {"ids": list(given["ids"])})["ids"]
            result = _named(memory, named, given)
    if session.json or given["_json"]:
        output.write_json(result)
    else:
        output.write(PRESENTERS[type(result)](result))
    return exits.OK


def _sweep(memory: AgentMemory, where: dict[str, Any], given: dict[str, Any]) -> Any:
    from agent_memory.interfaces.cli import progress
    from agent_memory.interfaces.cli.erasures import by_kind

    if given["dry_run"] or not given["yes"]:
        found = memory.records.forget_where(**where, dry_run=True)
        if given["dry_run"] or not found.count:
            return found
        click.confirm(f"Erase {found.count} for ever ({by_kind(found.kinds)}), {ASKED}", abort=True, err=True)
    with progress.shown(in_json=given["_json"]):
        return memory.records.forget_where(**where, reason=given["reason"])


def _named(memory: AgentMemory, ids: list[str], given: dict[str, Any]) -> Any:
    from agent_memory.app.namespaces.sweeping import Swept
    from agent_memory.interfaces.cli import missing
    from agent_memory.interfaces.cli.cleaning import cut, one_line
    from agent_memory.models.errors import NotFound

    try:
        if given["dry_run"] or not given["yes"]:
            last = [memory.records.history(id)[-1] for id in ids]
            for one in last:
                click.echo(f"  {one.kind}  {cut(one_line(one.text), 100)}", err=True)
            if given["dry_run"]:
                kinds = sorted(one.kind for one in last)
                return Swept(count=len(last), kinds={kind: kinds.count(kind) for kind in kinds}, dry_run=True)
            click.confirm(f"Erase {len(ids)} for ever, {ASKED}", abort=True, err=True)
        return memory.records.forget(ids, given["reason"])
    except NotFound as error:
        raise missing.explained(error, memory, {"ids": ids}) from error
