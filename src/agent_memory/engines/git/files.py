"""Which files of a folder are pages, and how one is read, whether the folder is on the disk or in a commit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from agent_memory.engines.git.layout import shown
from agent_memory.models.rules import Layer
from agent_memory.ports.pages import GUIDES, LARGEST_PAGE, MEMORY, SKILL, SKILLS, PageFile, is_page

OUTSIDE = "is a link that leads out of the repository, and is not followed"
NOWHERE = "is a link that leads nowhere"
CIRCLE = "is a link that leads in a circle"
LARGE = f"has more than {LARGEST_PAGE:,} bytes, and is not read: part it"


class UnreadablePath(Exception):
    """Why a path cannot be read, for people."""


@dataclass(frozen=True, slots=True)
class PageBytes:
    """The bytes of a page, and where they really are when links are followed."""

    data: bytes
    real: str


class Files(Protocol):
    """A tree of files. Paths are below its root, with slashes. Links are followed inside the root, and not out of it:
    that is a `UnreadablePath`, as is everything else that keeps one from reading."""

    def has(self, path: str) -> bool:
        """Whether there is something of this name, were it a link that leads nowhere."""
        ...

    def names(self, path: str) -> list[str]:
        """What is in a folder; nothing when there is none."""
        ...

    def real(self, path: str) -> str:
        """The path without links."""
        ...

    def read(self, path: str) -> PageBytes: ...


def pages(files: Files, levels: Iterable[str]) -> list[PageFile]:
    """The pages of these folders, the farthest first: in each its guides, its skills, and at last `.memory`. What two
    names lead to is one page."""
    found: dict[str, PageFile] = {}
    for path, problem in candidates(files, levels):
        try:
            if problem:
                raise UnreadablePath(problem)
            read = files.read(path)
        except UnreadablePath as error:
            found[path] = PageFile(shown(path), Layer.REPOSITORY, problem=str(error))
        else:
            found.setdefault(read.real, page(shown(path), Layer.REPOSITORY, read.data))
    return list(found.values())


def candidates(files: Files, levels: Iterable[str]) -> list[tuple[str, str | None]]:
    """Paths that are pages by their names; or that are not to be looked into, and why."""
    found: list[tuple[str, str | None]] = []
    for level in levels:
        found += [(path, None) for path in (_join(level, name) for name in GUIDES) if files.has(path)]
        for place in SKILLS:
            folder = _join(level, place)
            try:
                inside = [f"{folder}/{name}/{SKILL}" for name in sorted(files.names(folder))]
                found += [(path, None) for path in inside if files.has(path)]
            except UnreadablePath as error:
                found.append((folder, str(error)))
        memory = _join(level, MEMORY)
        try:
            found += [(f"{memory}/{name}", None) for name in sorted(files.names(memory)) if is_page(name)]
        except UnreadablePath as error:
            found.append((memory, str(error)))
    return found


def roots(level: str) -> list[str]:
    """Everything in a folder that can hold pages."""
    return [_join(level, name) for name in (*GUIDES, *SKILLS, MEMORY)]


def page(path: str, layer: Layer, data: bytes) -> PageFile:
    bare = PageFile(path, layer, digest=hashlib.sha256(data).hexdigest())
    try:
        return bare._replace(text=data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return bare._replace(problem=f"is not UTF-8 text (line {line}): save it as UTF-8")


def _join(level: str, name: str) -> str:
    return f"{level}/{name}" if level else name
