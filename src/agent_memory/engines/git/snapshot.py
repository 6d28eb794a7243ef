"""Pages of a commit, found by walking its trees. Links are followed as on the disk, inside the tree alone."""

from __future__ import annotations

import os

from agent_memory.engines.git.files import CIRCLE, LARGE, NOWHERE, OUTSIDE, PageBytes, UnreadablePath
from agent_memory.engines.git.objects import Objects, TreeEntry
from agent_memory.ports.pages import LARGEST_PAGE

MOST_LINKS = 40  # as Linux has it
LONGEST_LINK = 4096


class CommitTree:
    """The tree of one commit."""

    def __init__(self, objects: Objects, tree: str) -> None:
        self._objects = objects
        self._top = TreeEntry(0o040000, tree)

    def has(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        try:
            inside = self._follow(folder)[1]
        except UnreadablePath:
            return False
        return inside is not None and inside.is_folder and os.fsencode(name) in self._objects.tree(inside.id)

    def names(self, path: str) -> list[str]:
        if not self.has(path):
            return []
        entry = self._follow(path)[1]
        if entry is None:
            raise UnreadablePath(NOWHERE)
        if not entry.is_folder:
            return []
        return [os.fsdecode(name) for name in self._objects.tree(entry.id)]

    def real(self, path: str) -> str:
        return self._follow(path)[0]

    def read(self, path: str) -> PageBytes:
        real, entry = self._follow(path)
        if entry is None:
            raise UnreadablePath(NOWHERE)
        if not entry.is_file:
            raise UnreadablePath("is not a file")
        found = self._objects.get(entry.id, LARGEST_PAGE)
        if found is None:
            raise UnreadablePath("is not in this clone: git fetch it")
        if found.data is None:
            raise UnreadablePath(LARGE)
        return PageBytes(found.data, real)

    def _follow(self, path: str) -> tuple[str, TreeEntry | None]:
        """The path without links, and what is there; None when nothing is."""
        ahead = [os.fsencode(part) for part in reversed(path.split("/")) if part]
        behind: list[tuple[bytes, TreeEntry]] = []
        links = 0
        while ahead:
            part = ahead.pop()
            if part in (b"", b"."):
                continue
            if part == b"..":
                if not behind:
                    raise UnreadablePath(OUTSIDE)
                behind.pop()
                continue
            here = behind[-1][1] if behind else self._top
            entry = self._objects.tree(here.id).get(part) if here.is_folder else None
            if entry is None:
                return "", None
            if not entry.is_link:
                behind.append((part, entry))
                continue
            links += 1
            if links > MOST_LINKS:
                raise UnreadablePath(CIRCLE)
            ahead += self._target(entry)
        real = "/".join(os.fsdecode(part) for part, _ in behind)
        return real, behind[-1][1] if behind else self._top

    def _target(self, link: TreeEntry) -> list[bytes]:
        """Where a link leads, its last step first."""
        found = self._objects.get(link.id, LONGEST_LINK)
        if found is None or found.data is None:
            raise UnreadablePath(NOWHERE)
        if found.data.startswith(b"/"):
            raise UnreadablePath(OUTSIDE)
        return found.data.split(b"/")[::-1]
