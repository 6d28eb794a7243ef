"""How secrets that were found look: where they are, and never what they are."""

from __future__ import annotations

from agent_memory.app.namespaces.govern import FoundSecret, Scanned
from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.blocks import Block, Column, Note, Sentence, Table
from agent_memory.interfaces.cli.cleaning import one_line
from agent_memory.models.size import counted

ALLOW = f"if one of them is not a secret: `{PROGRAM} govern allow FINGERPRINT`"


def scanned(one: Scanned) -> list[Block]:
    if not one.found and not one.left:
        return [Sentence("no secrets found", "green")]
    told: list[Block] = [_table(one.found)] if one.found else [Sentence("no secrets found in what is stored", "green")]
    if one.fixed and one.found:
        scrubbed = "" if one.scrubbed else "; the disk still holds them until the next writes have scrubbed it"
        told.append(Sentence(f"taken out; {counted(len(one.cleaned), 'record')} written again{scrubbed}", "green"))
        told += [Sentence(f"{id}: others kept changing it: run the same again", "yellow") for id in one.busy]
        told.append(Note("change these secrets where they are used: backups and exports still hold them"))
    elif one.found:
        told.append(Note(f"`{PROGRAM} scan --fix` takes them out; {ALLOW}"))
    if one.left:
        told.append(Sentence("these stay: receipts go after 90 days, reasons in the journal never do", "yellow"))
        told.append(_table(one.left))
    return told


def checked(found: list[FoundSecret]) -> list[Block]:
    columns = (Column("kind", style="magenta"), Column("characters"), Column("fingerprint", style="cyan", whole=True))
    rows: list[tuple[object, ...]] = [(one.kind, one.where, one.fingerprint or "") for one in found]
    return [Table(columns, rows), Note(ALLOW)]


def _table(found: list[FoundSecret]) -> Table:
    columns = (
        Column("id", style="cyan", whole=True),
        Column("version", right=True, label=True),
        Column("kind", style="magenta"),
        Column("where"),
        Column("user"),
        Column("fingerprint", whole=True),
    )
    rows: list[tuple[object, ...]] = [
        (one.id or "", one.version or "", one.kind, one_line(one.where), one.user, one.fingerprint or "")
        for one in found
    ]
    return Table(columns, rows)
