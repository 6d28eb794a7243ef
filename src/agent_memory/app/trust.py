"""Which repositories the user of this machine trusts: whose pages are rules, and not just what somebody wrote.

Trust is given once, by hand, to a folder together with where it was cloned from, and holds only while both are so: an
unpacked archive may name any origin, and a folder may get another. It is kept in the configuration folder of whoever
runs this process, one small file for each repository, so that nothing in a repository or in a memory can give it.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_memory.app.config import config_folder
from agent_memory.models.errors import AgentMemoryError

if TYPE_CHECKING:
    from agent_memory.models.rules import Rulebook, TrustedRepository

FOLDER = "trusted"
HOW = "look at its pages with `agent-memory rules read`, then `agent-memory rules trust`"
OTHERS_WRITE = 0o022
LARGEST = 65_536  # bytes


class TrustTarget:
    """The repository that a folder is in; outside git, the folder with the pages. Git is asked only when it must be."""

    def __init__(self, folder: Path) -> None:
        from agent_memory.engines.git import layout
        from agent_memory.engines.git.watch import PathWatch

        real = os.path.realpath(folder)
        found = layout.repository(real, PathWatch())
        self.root = found.root if found else layout.workspace(real, PathWatch())
        self.inner = found.inner if found else layout.below(self.root, real) or ""

    @functools.cached_property
    def name(self) -> str:
        """What records and people call it: where it was cloned from, or else its folder."""
        from agent_memory.engines.git import clone, layout

        found = clone.clone(Path(self.root))
        return clone.name(found) if found else layout.shown(self.root)

    @functools.cached_property
    def origin(self) -> str:
        from agent_memory.engines.git import clone

        found = clone.clone(Path(self.root))
        return clone.origin(found) if found else ""

    @property
    def trusted(self) -> bool:
        """Whether somebody trusted just this: this folder, cloned from there."""
        known = _read(_file(self.root))
        return known is not None and known.path == self.root and known.origin == self.origin


def book(folder: Path, at: str | None = None, own: bool = True, *, checked: bool = False) -> Rulebook:
    """What holds in a folder. Pages of a repository that is not trusted are quoted, or, where an action is `checked`,
    may only forbid. It is shared: do not change its lists."""
    from agent_memory.app.procedures import Untrusted, procedures
    from agent_memory.models.rules import Layer

    known = procedures(own)
    if all(page.layer == Layer.USER for page in known.pages(folder, at)):
        return known.book(folder, at)
    here = TrustTarget(folder)
    return known.book(folder, at, None if here.trusted else Untrusted(here.name, checked))


def here() -> TrustTarget | None:
    """The repository of the working directory, if it has pages."""
    from agent_memory.app.procedures import procedures
    from agent_memory.models.rules import Layer

    try:
        folder = Path.cwd()
        pages = procedures().pages(folder)
    except (AgentMemoryError, OSError):
        return None
    return TrustTarget(folder) if any(page.layer != Layer.USER for page in pages) else None


def trust(here: TrustTarget) -> TrustedRepository:
    """From now on, until it is taken back, or the folder or the origin is another."""
    from agent_memory.app import pagefiles
    from agent_memory.models.rules import TrustedRepository

    made = TrustedRepository(path=here.root, origin=here.origin, at=datetime.now(UTC))
    data = json.dumps({"path": made.path, "origin": made.origin, "at": made.at.isoformat()})
    file = _file(here.root)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    pagefiles.put(file, data.encode(), 0o600)
    return made


def begin(here: TrustTarget) -> bool:
    """Trust it, where an act of its user says so; False if it was trusted already."""
    if here.trusted:
        return False
    trust(here)
    return True


def may_be_trusted(folder: Path) -> bool:
    """Whether anything above a folder (its links resolved) is: one look at the disk, and none at the repository."""
    try:
        kept = {file.name for file in (config_folder() / FOLDER).iterdir()}
    except OSError:
        return False
    return bool(kept) and any(_name(str(one)) in kept for one in (folder, *folder.parents))


def untrust(path: str) -> bool:
    """Take it back; False if it was not given."""
    try:
        _file(path).unlink()
    except FileNotFoundError:
        return False
    return True


def trusted() -> Iterator[TrustedRepository]:
    """All of them, by path; some may have another origin by now."""
    found = (_read(file) for file in (config_folder() / FOLDER).glob("*.json"))
    yield from sorted((one for one in found if one is not None), key=lambda one: one.path)


def _file(path: str) -> Path:
    return config_folder() / FOLDER / _name(path)


def _name(path: str) -> str:
    return f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"


def _read(file: Path) -> TrustedRepository | None:
    """What cannot be read, or what others could have written, trusts nothing."""
    from agent_memory.models.rules import TrustedRepository

    try:
        with file.open("rb") as said:
            if os.name == "posix" and os.fstat(said.fileno()).st_mode & OTHERS_WRITE:
                return None
            return TrustedRepository(**json.loads(said.read(LARGEST)))
    except (OSError, ValueError, TypeError):  # InvalidInput is a ValueError
        return None
