"""What we ask of the place where procedures are kept: the pages that hold in a folder, as they are on the disk or as
they were at a commit, and the commits that touched them. Reading never runs anything of the repository, and never
touches its working tree or its index."""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from agent_memory.models.rules import Layer, Version

LARGEST_PAGE = 1_000_000  # bytes
MEMORY = ".memory"  # the folder of pages in a folder
NOTES = "working.md"  # in there: what is on somebody's mind, and no procedure
PREFERENCES = "USER_PREFS.md"  # in there, or beside the user's own pages: what he wants, and no procedure either
GUIDES = ("AGENTS.md", "CLAUDE.md")  # pages for agents of any kind
SKILLS = ("skills", ".claude/skills")  # folders of skills, each a folder with a `SKILL`
SKILL = "SKILL.md"


def is_page(name: str) -> bool:
    """Whether a file of this name is a page, in a folder that is for pages."""
    return name.endswith(".md") and not name.startswith(".") and name not in (NOTES, PREFERENCES)


class PageFile(NamedTuple):
    """A page as it was found. Either `text` is there, or `problem` says why not.

    `path` is below the root of the repository, with slashes; pages of the user or of the clone have a whole path. Bytes
    that are no text and control characters in it are spelled out, so that it can be shown. `digest` is of the bytes.
    `dirty`: it is not what `commit` holds.
    """

    path: str
    layer: Layer
    text: str | None = None
    problem: str | None = None
    digest: str = ""
    commit: str | None = None
    dirty: bool = False


class WatchedPath(NamedTuple):
    """A path as it was looked at. `digest` is of what it holds, where the clock of the disk is too coarse to tell
    whether it was written again since."""

    path: str
    stamp: tuple[int, ...] | None
    digest: bytes | None = None
    identity: bool = False
    """Only which file it is counts, not what is in it."""


class FoundPages(NamedTuple):
    """The pages that hold in a folder, the farthest first: user, clone, then the repository from its root down.
    `watched` is everything that they depend on; None: nobody can tell without looking again."""

    files: tuple[PageFile, ...]
    version: Version
    watched: tuple[WatchedPath, ...] | None = None


class PageRevision(NamedTuple):
    """A commit that touched pages: those of the repository before and after it. `cut`: the commit before is not in
    this clone, so nobody here knows what it changed."""

    commit: str
    author: str
    at: datetime
    subject: str
    before: tuple[PageFile, ...]
    after: tuple[PageFile, ...]
    cut: bool = False


class Pages(Protocol):
    """Safe to use from several threads."""

    def find(self, folder: Path, at: str | None = None) -> FoundPages:
        """The pages of the working tree, or those at a commit, tag or branch.

        `InvalidInput` names `folder` or `at` when there is no such thing. A page that cannot be read has a problem,
        and the others are there; where git cannot tell the version, `version.why` says why.
        """
        ...

    def still(self, found: FoundPages) -> FoundPages | None:
        """The same, when nothing that it depends on changed; a few looks at the disk, and no other program."""
        ...

    def log(self, folder: Path) -> Generator[PageRevision, None, None]:
        """The commits that touched the pages of this folder, the newest first. Close it when you have enough."""
        ...
