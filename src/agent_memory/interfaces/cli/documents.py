"""How documents, and what was found in them, look."""

from __future__ import annotations

from agent_memory.interfaces.cli import PROGRAM
from agent_memory.interfaces.cli.blocks import Block, Column, Note, Sentence, Table, Under
from agent_memory.interfaces.cli.cleaning import one_line
from agent_memory.models.kinds.documents import Document, FoundChunk, Ingested, SyncedFolder
from agent_memory.models.size import counted, sized

CHUNKS = ("added", "updated", "unchanged", "removed")
FILES = (("added", "new"), ("changed", "changed"), ("gone", "gone"))
SHOWN = 5  # endings of files that are not documents
LONGEST = 600  # characters of what was found; `show` prints all of it


def ingested(one: Ingested) -> list[Block]:
    chunks = ", ".join(f"{number} {name}" for name in CHUNKS if (number := getattr(one, name)))
    color = "dim" if one.effect == "unchanged" else "green"
    told: list[Block] = [Sentence(f"{one.effect} {one_line(one.source)} ({one.id}): chunks: {chunks or 'none'}", color)]
    told += [Sentence(f"note: {one_line(note)}", "yellow") for note in one.notes]
    if one.pending:
        told.append(Note(f"{counted(one.pending, 'memory', 'memories')} without a vector so far: found by words only"))
    return told


def synced(found: SyncedFolder) -> list[Block]:
    told: list[Block] = []
    for field, word in FILES:
        archived = ", and would be archived" if found.dry_run else ", and archived"
        said = word + archived if field == "gone" else word
        told += [Sentence(f"{said}: {one_line(name)}", "green") for name in getattr(found, field)]
    told += [Sentence(f"skipped: {one_line(one.path)}: {one_line(one.why)}", "yellow") for one in found.skipped]
    if found.others:
        told.append(Sentence(_others(found.others), "dim"))
    told.append(Sentence(f"{one_line(found.folder)}: {_summed(found)}"))
    if found.dry_run:
        return [*told, Note("nothing was changed: this was a dry run")]
    chunks = found.chunks_added, found.chunks_updated, found.chunks_removed
    return [*told, Note("chunks: {} added, {} updated, {} removed".format(*chunks))]


def _summed(found: SyncedFolder) -> str:
    """How many files are what, those that are none left out."""
    numbers = {word: len(getattr(found, field)) for field, word in FILES}
    numbers |= {"unchanged": found.unchanged, "skipped": len(found.skipped)}
    return ", ".join(f"{number} {word}" for word, number in numbers.items() if number) or "no documents"


def _others(endings: dict[str, int]) -> str:
    shown = ", ".join(f"{one_line(ending)} ({number})" for ending, number in list(endings.items())[:SHOWN])
    more = ", …" if len(endings) > SHOWN else ""
    return f"not documents: {counted(sum(endings.values()), 'file')}: {shown}{more}"


def listed(found: list[Document]) -> list[Block]:
    columns = (
        Column("id", Under.NARROW, "cyan", whole=True, order=0, short=True),
        Column("ingested"),
        Column("chunks", right=True, label=True),
        Column("size", right=True),
        Column("title"),
        Column("source"),
    )
    rows: list[tuple[object, ...]] = [
        (one.id, one.ingested_at, one.chunks, sized(one.size_bytes), one.title, one.source) for one in found
    ]
    return [Table(columns, rows)]


def found(chunks: list[FoundChunk]) -> list[Block]:
    columns = (
        Column("relevance", right=True, style="green", label=True, order=2),
        Column("where", Under.ALWAYS),
        Column("text"),
    )
    rows: list[tuple[object, ...]] = [(f"{one.relevance:.2f}", _where(one), one.content) for one in chunks]
    goes_on = any(len(one.content) > LONGEST for one in chunks)
    more = [Note(f"… marks a text that was shortened: `{PROGRAM} show ID` prints all of it")] if goes_on else []
    return [Table(columns, rows, LONGEST), *more]


def _where(one: FoundChunk) -> str:
    said = one.metadata
    place = f"page {said['page']}" if said.get("page") else f"chunk {said.get('ordinal', '?')} of {said.get('of', '?')}"
    return f"{said['source']}, {place}, {said['id']}"
