"""How it looks where a memory comes from: a tree, each record above its sources."""

from __future__ import annotations

from agent_memory.interfaces.cli.blocks import Block, Note, Sentence
from agent_memory.interfaces.cli.cleaning import cut, one_line
from agent_memory.interfaces.cli.output import shown
from agent_memory.models.origin import Origin, Origins
from agent_memory.models.record import Status
from agent_memory.models.size import counted

LONGEST = 120  # characters of a text


def tree(found: Origins) -> list[Block]:
    blocks: list[Block] = [Sentence(_line(one)) for one in found.origins]
    if len(found.origins) == 1:
        blocks.append(Note("it was derived from nothing that is known: somebody stored it as it is"))
    if found.left_out:
        blocks.append(Sentence(f"{counted(found.left_out, 'more source')} left out", "yellow"))
    return blocks


def _line(one: Origin) -> str:
    status = "" if one.status == Status.ACTIVE else f", {one.status}"
    where = f", conversation {one_line(one.conversation_id)}" if one.conversation_id else ""
    again = " (its sources stand above)" if one.again else ""
    said = f"{one.kind} {one.id}, {one.source}, {shown(one.valid_from)}{where}{status}{again}"
    return f"{'   ' * (one.depth - 1)}{'└─ ' if one.depth else ''}{said}: {cut(one_line(one.text), LONGEST)}"
