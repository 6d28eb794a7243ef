"""How it looks whether a store is whole."""

from __future__ import annotations

from agent_memory.app.namespaces.upkeep import Verification
from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.blocks import Block, Note, Sentence


def verification(one: Verification) -> list[Block]:
    counted = ", ".join(f"{number} {_of_one(what) if number == 1 else what}" for what, number in one.checked.items())
    blocks: list[Block] = [Sentence(f"problem: {problem}", "red") for problem in one.problems]
    blocks += [Sentence(f"known: {note}", "yellow") for note in one.notes]
    if one.ok:
        blocks.append(Sentence(f"ok: {counted}", "green"))
    return [
        *blocks,
        Sentence(f"head: {one.seq}:{one.head}" + (f"+{one.heads['']}" if one.heads.get("") else "")),
        Note(f"keep this elsewhere: `{PROGRAM} verify --expect HEAD` proves that a later store still contains it"),
    ]


def _of_one(what: str) -> str:
    """`journal lines` as one of them is called."""
    return " ".join(word.removesuffix("s") for word in what.split())
