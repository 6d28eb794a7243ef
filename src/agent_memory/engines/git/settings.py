"""What git's configuration says that changes what a command or a message means: aliases, comments, rebasing pulls.

Read by git itself, which knows about includes and conditions, and again only when one of its files changed.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from agent_memory.engines.git import layout, refs
from agent_memory.engines.git.program import Git, Trouble, lines
from agent_memory.engines.git.watch import PathWatch, still
from agent_memory.ports.pages import WatchedPath

UNASKED: Mapping[str, str] = MappingProxyType({})
MOST_KEPT = 64  # folders whose settings are remembered


@dataclass(frozen=True)
class Situation:
    """Where a folder is: `root` is the top of its repository, None outside one. `settings` are git's, names in small
    letters, of several values the last. `problem` says why they could not be read. `merging`: a merge was begun, and
    waits for its commit."""

    root: Path | None
    branch: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None
    merging: bool = False


class Situations:
    """Safe to use from several threads."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._git = Git(environment)
        self._environment = environment
        self._known: dict[str, tuple[tuple[WatchedPath, ...], dict[str, str]]] = {}
        self._lock = threading.Lock()

    def of(self, folder: Path, *, settings: bool = True) -> Situation:
        """The repository, branch and settings of a folder."""
        found = layout.repository(os.path.realpath(folder), PathWatch())
        if found is None:
            return Situation(None)
        root = Path(found.root)
        branch = refs.branch(self._git, found)
        merging = os.path.lexists(os.path.join(found.git, "MERGE_HEAD"))
        try:
            return Situation(root, branch, self._settings(found) if settings else UNASKED, merging=merging)
        except Trouble as error:
            return Situation(root, branch, problem=str(error), merging=merging)

    def _settings(self, found: layout.Repository) -> dict[str, str]:
        with self._lock:
            known = self._known.get(found.git)
        if known is not None and still(known[0]) is not None:
            return known[1]
        watch = PathWatch()
        for path in self._files(found):
            watch.see(path)
        said: dict[str, str] = {}
        records = list(lines(self._git, found.root, ["config", "--null", "--show-origin", "--list"], b"\0"))
        for origin, entry in zip(records[::2], records[1::2], strict=False):
            if origin.startswith(b"file:"):
                watch.see(os.path.join(found.root, os.fsdecode(origin[5:])))
            name, _, value = entry.decode("utf-8", "replace").partition("\n")
            said[name] = value
        with self._lock:
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            self._known[found.git] = (watch.all(), said)
        return said

    def _files(self, found: layout.Repository) -> list[str]:
        """Where settings may come from, whether there is such a file yet or not. (The origins that git names tell the
        rest.)"""
        home = self._environment.get("HOME", "")
        shared = self._environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        own = self._environment.get("GIT_CONFIG_GLOBAL")
        users = [own] if own else [os.path.join(home, ".gitconfig"), os.path.join(shared, "git", "config")]
        folders = {found.common, found.git}
        return [
            *users,
            *(os.path.join(folder, name) for folder in folders for name in ("config", "config.worktree", "HEAD")),
        ]
