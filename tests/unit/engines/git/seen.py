"""What was found."""

from __future__ import annotations

from agent_memory.ports.pages import FoundPages, PageFile


def paths(found: FoundPages) -> list[str]:
    return [one.path for one in found.files]


def page(found: FoundPages, path: str = ".memory/rules.md") -> PageFile:
    return next(one for one in found.files if one.path == path)
