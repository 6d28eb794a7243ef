"""The folder that an operation about files works in. In process it is whatever the caller names; whoever calls over a
network is held to the folder of the server, so that a key to a memory is no key to a disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from agent_memory.models.errors import AgentMemoryError, Denied, InvalidInput


class Workplace(NamedTuple):
    """`root` is the folder that a caller cannot leave, but for the `others`; None: there is none. `own`: the pages in
    the configuration of whoever runs this process are the caller's own. `shut`: nobody may ask about any folder."""

    root: Path | None = None
    own: bool = True
    others: tuple[Path, ...] = ()
    shut: bool = False

    @classmethod
    def bound(cls, root: Path | None, own: bool = False) -> Workplace:
        """Held to this folder, or to the working directory of now."""
        return cls(Path(os.path.realpath((root or Path.cwd()).expanduser())), own)

    def folder(self, asked: str | None = None) -> Path:
        """The folder that is meant, without symbolic links; by default the root, or the working directory of now."""
        found = self.path(asked or ".", field="folder")
        if not os.path.isdir(found):  # noqa: PTH112 - which never raises
            raise InvalidInput(
                f"folder: {asked or str(found)!r} is not a folder", hint="name one that exists", field="folder"
            )
        return found

    def holds(self, path: Path) -> bool:
        """Whether a caller may reach it, its links followed."""
        if self.shut:
            return False
        found = Path(os.path.realpath(path))
        return self.root is None or any(found.is_relative_to(root) for root in (self.root, *self.others))

    def path(self, asked: str, within: Path | None = None, field: str = "path") -> Path:
        """A file or folder, seen from `within`, and its links followed. `Denied` outside the root."""
        if self.shut:
            raise InvalidInput(
                f"{field}: this server works in no folder, so it knows no rules",
                hint="whoever runs it can name one with AGENT_MEMORY_WORKPLACE",
                field=field,
            )
        start = within or self.root or _here()
        try:
            found = Path(os.path.realpath(start / Path(asked).expanduser()))
        except (ValueError, OSError, RuntimeError):  # a NUL, a name that is too long, a user that nobody knows
            raise InvalidInput(f"{field}: {asked[:200]!r} is not a path", hint="correct it", field=field) from None
        if not self.holds(found):
            raise Denied(
                f"{field}: {asked[:200]!r} is outside the folder of this server",
                hint="ask about a folder inside it, or run it on your own machine",
                field=field,
            )
        return found


def _here() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise InvalidInput(
            "folder: the working directory is gone", hint="change to one that exists", field="folder"
        ) from None


def in_git() -> str | None:
    """What the git repository of the working directory is called; None outside of one."""
    from agent_memory.engines.git import clone

    try:
        found = clone.clone(Path.cwd())
    except (AgentMemoryError, OSError):
        return None
    return clone.name(found) if found else None
