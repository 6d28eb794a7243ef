"""How it looks when files and the memory were brought together."""

from __future__ import annotations

from agent_memory.app.trust import HOW
from agent_memory.interfaces.cli.blocks import Block, Note, Sentence
from agent_memory.interfaces.cli.cleaning import one_line
from agent_memory.models.files import SyncedFile, SyncedFiles

WORDS = {
    "remembered": ("stored in memory", "would be stored in memory"),
    "ended": ("ended, because the line is gone", "would end, because the line is gone"),
    "written": ("written to the file", "would be written to the file"),
    "removed": ("removed from the file", "would be removed from the file"),
}


def synced(found: SyncedFiles) -> list[Block]:
    told: list[Block] = [block for one in found.files for block in _file(one, found.dry_run)]
    if not found.files:
        told.append(Sentence("there is no file to sync"))
    if found.untrusted is not None:
        said = f"{one_line(found.untrusted)} is not trusted: its files were left alone"
        told += [Sentence(said, "yellow"), Note(f"to trust it, {HOW}")]
    return told


def _file(one: SyncedFile, dry_run: bool) -> list[Block]:
    path = one_line(one.path)
    if one.problem is not None:
        return [Sentence(f"{path}: {one_line(one.problem)}", "red")]
    told: list[Block] = [
        Sentence(f"{path}: {words[dry_run]}: {one_line(', '.join(entries))}", "green")
        for name, words in WORDS.items()
        if (entries := getattr(one, name))
    ]
    told += [
        Sentence(
            f"{path}: conflict: {one_line(each.entry)}: {_said(each.file)} in the file, {_said(each.memory)} here",
            "yellow",
        )
        for each in one.conflicts
    ]
    if one.conflicts:
        told.append(Note("change one of them, or say which side wins: --prefer file, --prefer memory"))
    if one.not_understood:
        told.append(
            Sentence(f"{path}: not understood, and left as it is: {one_line('; '.join(one.not_understood))}", "yellow")
        )
    return told or [Sentence(f"{path}: nothing to do")]


def _said(value: str | None) -> str:
    return "nothing" if value is None else repr(one_line(value)[:80])
