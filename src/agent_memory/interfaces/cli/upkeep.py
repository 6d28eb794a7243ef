"""How it looks what upkeep found and did: what was pruned, merged, or read out of what somebody said."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.blocks import Block, Card, Column, Note, Sentence, Table, Under
from agent_memory.interfaces.cli.cleaning import one_line
from agent_memory.models.extraction import Extraction
from agent_memory.models.kinds.knowledge import Fact
from agent_memory.models.merged import Consolidation
from agent_memory.models.pruned import Pruned, PrunedRecord
from agent_memory.models.size import counted

ID = Column("id", Under.NARROW, "cyan", whole=True, order=0, short=True)
FEWEST = "nothing is merged where there are fewer than 100 memories of one scope that could be"
MEMORY = "memory", "memories"


def pruned(done: Pruned) -> list[Block]:
    many = counted(len(done.found), *MEMORY)
    if not done.found:
        told: list[Block] = [Sentence("nothing may be archived" if done.dry_run else "nothing was archived")]
    elif done.dry_run:
        told = [Sentence(f"{many} may be archived"), _table(done.found)]
        told.append(Note(f"nothing was changed: `{PROGRAM} prune --no-dry-run` archives them"))
    else:
        told = [Sentence(f"archived {many}", "green"), _table(done.found)]
    if done.archived:
        told += [Sentence(f"{counted(len(done.archived), *MEMORY)} archived before"), _table(done.archived)]
    if done.archived or (done.found and not done.dry_run):
        told.append(Note(f"`{PROGRAM} restore-memory ID` brings one back, until it is removed"))
    return told


def _table(found: Sequence[PrunedRecord]) -> Table:
    until = any(one.until for one in found)
    columns = (
        ID,
        Column("kind", style="magenta"),
        *([Column("kept until", label=True)] if until else []),
        Column("why", Under.ALWAYS),
        Column("text"),
    )
    return Table(columns, [(o.id, o.kind, *([o.until] if until else []), o.why, one_line(o.text)) for o in found])


def merged(done: Consolidation) -> list[Block]:
    if not done.into:
        return [Sentence("nothing to merge"), Note(FEWEST)]
    what = f"{counted(done.merged, *MEMORY)} into {done.into}"
    told: list[Block] = [Sentence(f"would merge {what}") if done.dry_run else Sentence(f"merged {what}", "green")]
    columns = (ID, Column("from", Under.ALWAYS, whole=True), Column("text"))
    told.append(Table(columns, [(one.id, ", ".join(one.sources), one_line(one.text)) for one in done.groups]))
    if done.into > len(done.groups):
        told.append(Sentence(f"… and {counted(done.into - len(done.groups), 'more group')}"))
    said = "nothing was changed: this was a dry run" if done.dry_run else f"`{PROGRAM} upkeep undo ID` takes one back"
    return [*told, Note(said)]


def extracted(made: Extraction) -> list[Block]:
    numbers = {
        counted(len(made.facts), "fact"): made.facts,
        counted(len(made.repeated), "fact") + " said again": made.repeated,
        counted(len(made.entities), "entity", "entities"): made.entities,
        counted(len(made.proposals), "proposal"): made.proposals,
    }
    came = ", ".join(said for said, found in numbers.items() if found) or "nothing is claimed"
    by = "" if made.made_by == "rules" else f" (by {made.made_by})"
    told: list[Block] = [Sentence(f"{counted(made.turns, 'turn')} read{by}: {came}")]
    if made.facts:
        told.append(_facts(made.facts))
    if made.entities:
        columns = (ID, Column("type", style="magenta"), Column("new", label=True), Column("entity"))
        told.append(Table(columns, [(one.id, one.type, one.new, one_line(one.name)) for one in made.entities]))
    if made.proposals or any(one.held for one in made.facts):
        told.append(Sentence(f"some of it waits for review: `{PROGRAM} review list`", "yellow"))
    return told


def fact(one: Fact) -> list[Block]:
    """What somebody learned, and what it may contradict."""
    known = one.model_dump(exclude={"claim", "superseded", "alike", "held"}).items()
    told: list[Block] = [Card([(name, value) for name, value in known if value not in (None, [])], one.claim)]
    if one.superseded:
        told.append(Sentence(f"it takes the place of: {one_line(one.superseded)}"))
    if one.alike:
        said = f"{', '.join(one.alike)} {'says' if len(one.alike) == 1 else 'say'} nearly the same, or the opposite"
        told.append(Sentence(f"{said}; nothing was changed there", "yellow"))
    if one.held:
        told.append(Sentence(f"it waits for review: `{PROGRAM} review list`", "yellow"))
    return told


def _facts(found: Sequence[Fact]) -> Table:
    superseded, held = any(one.superseded for one in found), any(one.held for one in found)
    columns = (
        ID,
        Column("confidence", right=True, label=True),
        *([Column("waits", label=True)] if held else []),
        *([Column("instead of", Under.ALWAYS, label=True, wraps=True)] if superseded else []),
        Column("fact"),
    )
    rows: list[tuple[object, ...]] = [
        (
            one.id,
            one.confidence,
            *([one.held] if held else []),
            *([one.superseded and one_line(one.superseded)] if superseded else []),
            one_line(one.claim),
        )
        for one in found
    ]
    return Table(columns, rows)
