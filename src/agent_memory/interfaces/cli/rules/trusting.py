"""What people are told about repositories that they trust, or do not."""

from __future__ import annotations

from pathlib import Path

from agent_memory.app.trust import HOW
from agent_memory.app.variables import read_dotenv
from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.blocks import Block, Note, Sentence
from agent_memory.interfaces.cli.cleaning import one_line
from agent_memory.models.rules import FollowedPages, TrustedRepository

TRUSTED = f"this repository is trusted now: its pages are rules (`{PROGRAM} rules untrust` takes it back)"


def hint(untrusted: str | None) -> list[Block]:
    """For whoever sees pages of a repository that nobody has trusted."""
    if untrusted is None:
        return []
    return [Note(f"{one_line(untrusted)} is not trusted: its pages are only quoted. To trust it, {HOW}")]


def newly(one: TrustedRepository) -> list[Block]:
    origin = f", cloned from {one_line(one.origin)}" if one.origin else ""
    told: list[Block] = [
        Sentence(f"trusted {one_line(one.path)}{origin}", "green"),
        Note(f"its pages are rules now; `{PROGRAM} rules follow` lets recall find them, too"),
    ]
    said, _ = read_dotenv(Path(one.path) / ".env")
    if names := sorted(one_line(name) for name in said if name.startswith("AGENT_MEMORY_")):
        said_now = (
            f"its .env counts now, and sets {', '.join(names)}: `{PROGRAM} doctor` shows where settings come from"
        )
        told.append(Sentence(said_now, "yellow"))
    return told


def followed(one: FollowedPages) -> list[Block]:
    said = f"{one.written} written, {one.archived} archived, {one.unchanged} unchanged"
    return [Sentence(f"{one_line(one.repository)}: {said}", "green")]
