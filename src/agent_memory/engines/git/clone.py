"""One clone: what its repository is called wherever it is cloned, and the settings that are its own."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agent_memory.engines.git import layout
from agent_memory.engines.git.program import Git, Trouble, lines
from agent_memory.engines.git.watch import PathWatch
from agent_memory.models.errors import PartMissing

_SCP = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:@]+):(?P<path>[^/].*)")
_WHO = re.compile(r"^([a-z][a-z0-9+.-]*://)[^/]*@", re.IGNORECASE)
_URL = re.compile(r"[a-z][a-z0-9+.-]*://(?:[^/]*@)?(?P<host>[^/@]+)/(?P<path>.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Clone:
    """`root` is the top of the working tree, `inner` the folder asked about below it, `pages` where the clone keeps
    pages of its own: in no commit, and gone with the clone."""

    root: Path
    inner: str
    pages: Path


def clone(folder: Path) -> Clone | None:
    """The one that a folder is in, if it is in one."""
    found = layout.repository(os.path.realpath(folder), PathWatch())
    return None if found is None else Clone(Path(found.root), found.inner, Path(found.common) / layout.OWN)


def name(at: Clone) -> str:
    """What the repository is called: where it was cloned from, without user or password, or else its folder."""
    return layout.shown(address(_url(at)) or str(at.root))


def origin(at: Clone) -> str:
    """Where it was cloned from, without user or password; empty if from nowhere."""
    url = _url(at)
    return address(url) or _WHO.sub(r"\1", url)


def _url(at: Clone) -> str:
    try:
        said = (at.pages.parent / "config").stat()
    except OSError:
        return ""
    return _configured(str(at.root), (said.st_mtime_ns, said.st_size, said.st_ino))


@functools.lru_cache(maxsize=64)
def _configured(root: str, version: tuple[int, ...]) -> str:
    """Asked once for each `version` of the settings."""
    try:
        (url,) = lines(Git(os.environ), root, ["config", "--local", "--get", "remote.origin.url"], b"\n")
    except (Trouble, ValueError):
        return ""
    return os.fsdecode(url)


def address(url: str) -> str | None:
    """`git@host:team/app.git` and `https://me:secret@host/team/app` are the same place; a path is none."""
    found = _URL.fullmatch(url) or _SCP.fullmatch(url)
    if found is None or not found["path"].strip("/"):
        return None
    return f"{found['host'].lower()}/{found['path'].strip('/').removesuffix('.git')}"


def configure(at: Clone, settings: Mapping[str, str]) -> None:
    """Set these in the clone, and nowhere else. Keys and values were checked: none of them makes git run anything, and
    none is an option."""
    for key, value in settings.items():
        try:
            list(lines(Git(os.environ), str(at.root), ["config", "--local", key, value], b"\n"))
        except Trouble as error:
            raise PartMissing(
                f"{key} could not be set in {at.root}: {error}", hint="check that the clone can be written"
            ) from None
