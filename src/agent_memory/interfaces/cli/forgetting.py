"""`agent-memory forget`: the records that are named, or all of a conversation, a kind or a repository."""

from __future__ import annotations

import sys
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from agent_memory.interfaces.cli import PROGRAM, completing, whose
from agent_memory.interfaces.cli.session import Session
from agent_memory.models.size import counted

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory
    from agent_memory.app.namespaces.sweeping import Swept
    from agent_memory.models.record import Record

OPTIONS = MappingProxyType({"conversation_id": "--conversation-id", "kinds": "--kind", "repository": "--repository"})
WHERE = tuple(OPTIONS)


@whose.anywhere
@click.command("forget", short_help="Erase records for real: by id, or all of a conversation, kind or repository")
@click.argument("ids", nargs=-1, shell_complete=completing.ids)
@click.option("--conversation-id", metavar="ID", help="all of this conversation")
@click.option("--kind", "kinds", multiple=True, shell_complete=completing.kinds, help="all of this kind (repeatable)")
@click.option("--repository", metavar="NAME", help="all of this repository")
@click.option("--dry-run", is_flag=True, help="only show what would be erased")
@click.option("--reason", help="why, for the journal")
@click.option("--yes", is_flag=True, help="do not ask")
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(session: Session, /, **given: Any) -> int:
    """Erase records for real, with what was derived from them alone: rows, words, vectors, links, receipts.

    IDS are ids, or how they begin, or @last. Instead of them, --conversation-id, --kind and --repository choose all
    records of yours to which everything that is given applies, archived ones included.
    """
    from agent_memory.interfaces.cli import exits, ids, missing, output
    from agent_memory.interfaces.cli.erasures import forgotten, swept
    from agent_memory.models.errors import NotFound

    where = {name: given[name] for name in WHERE if given[name]}
    choice = "--conversation-id, --kind or --repository"
    if where and given["ids"]:
        raise click.UsageError(
            f"{' and '.join(OPTIONS[name] for name in where)} cannot be combined with ids: "
            f"name the records, or choose all of them by {choice}"
        )
    if not where and not given["ids"]:
        raise click.UsageError(f"nothing to forget was named: give ids, or choose by {choice}")
    with session.memory() as memory:
        said: dict[str, Any] = (
            {**where, "kinds": list(given["kinds"]) or None} if where else {"ids": list(given["ids"])}
        )
        try:
            said = ids.resolved(memory, "records.forget", said)
            result = _forget(memory, said, given)
        except NotFound as error:
            raise missing.explained(error, memory, said) from error
    if session.json or given["_json"]:
        output.write_json(result)
    else:
        output.write(swept(result) if where or given["dry_run"] else forgotten(result))
    return exits.OK


def confirm(memory: AgentMemory, said: dict[str, Any]) -> None:
    """The one question before something is erased. What would go is shown first; where nobody can be asked, the answer
    must have been given with the command."""
    from agent_memory.interfaces.cli.erasures import by_kind

    if said.get("dry_run"):
        return
    _check_terminal("forget --dry-run")
    found = _preview(memory, said)
    if found.count:
        question = f"Erase {by_kind(found.kinds)} for good, with whatever was derived from nothing else?"
        click.confirm(question, abort=True, err=True)


def confirm_block(memory: AgentMemory, said: dict[str, Any]) -> None:
    """Before a block goes with all its versions."""
    _check_terminal("blocks history LABEL")
    versions = len(memory.blocks.history(said["label"]))
    click.confirm(f"Erase block {said['label']!r} for good, with its {versions} versions?", abort=True, err=True)


def confirm_tenant(memory: AgentMemory, said: dict[str, Any]) -> None:
    """A whole tenant is confirmed by its name, not by a letter that one types without thinking."""
    from agent_memory.interfaces.cli.erasures import everything

    if said.get("dry_run"):
        return
    _check_terminal("tenants erase NAME --dry-run")
    found = memory.tenants.erase(said["name"], dry_run=True)
    click.echo(f"This erases {everything(found)}, for good and for all its users.", err=True)
    if click.prompt("Type the name of the tenant to go on", default="", show_default=False, err=True) != found.name:
        raise click.ClickException(f"that is not {found.name!r}; nothing was erased")


def confirm_scan(memory: AgentMemory, said: dict[str, Any]) -> None:
    """Before records that hold secrets are written anew without them, and without their history."""
    if not said.get("fix"):
        return
    _check_terminal("scan")
    found = memory.govern.scan().found
    records = {one.id for one in found if one.id}
    if found:
        history = f"{counted(len(records), 'record')} will be written again without their history"
        question = f"Take out {counted(len(found), 'secret')}? {history}."
        click.confirm(question, abort=True, err=True)


def _check_terminal(preview: str) -> None:
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.UsageError(
            f"this erases permanently, and there is no terminal to confirm at: pass --yes, or see what would be "
            f"erased with `{PROGRAM} {preview}`"
        )


def _forget(memory: AgentMemory, said: dict[str, Any], given: dict[str, Any]) -> Any:
    from agent_memory.interfaces.cli import progress

    if given["dry_run"]:
        return _preview(memory, said)
    if not given["yes"]:
        confirm(memory, said)
    forget = memory.records.forget if "ids" in said else memory.records.forget_where
    with progress.shown(in_json=given["_json"]):
        return forget(**said, reason=given["reason"])


def _preview(memory: AgentMemory, said: dict[str, Any]) -> Swept:
    """What would go: one by one if they were named, otherwise as a count."""
    from agent_memory.app.namespaces.sweeping import Swept
    from agent_memory.interfaces.cli.cleaning import cut, one_line

    if "ids" not in said:
        chosen = {name: said.get(name) for name in WHERE}
        return memory.records.forget_where(**chosen, dry_run=True)
    found = [_held(memory, id) for id in said["ids"]]
    for one in found:
        click.echo(f"  {one.kind}  {cut(one_line(one.text), 100)}", err=True)
    kinds = sorted(one.kind for one in found)
    return Swept(count=len(found), kinds={kind: kinds.count(kind) for kind in kinds}, dry_run=True)


def _held(memory: AgentMemory, id: str) -> Record:
    """A record as it holds now; if it does not, as it was last believed."""
    from agent_memory.models.errors import NotFound

    with suppress(NotFound):
        return memory.records.get(id)
    return memory.records.history(id)[-1]
