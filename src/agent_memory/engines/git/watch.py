"""Whether a file changed, for the price of a look at it.

The disk's clock ticks every few milliseconds: what is written twice within a tick looks the same. So, as git does, what
was changed only just before it was looked at is known by its content, until it is old enough for its times to tell.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time

from agent_memory.ports.pages import LARGEST_PAGE, WatchedPath

RACY = 2_000_000_000  # nanoseconds: the coarsest clock of a file system that is in use


class PathWatch:
    """What was looked at, each path before it was used: whatever is written later shows."""

    def __init__(self) -> None:
        self._seen: dict[str, WatchedPath] = {}

    def see(self, path: str, *, identity: bool = False) -> None:
        if path not in self._seen:
            self._seen[path] = look(path, identity=identity)

    def all(self) -> tuple[WatchedPath, ...]:
        return tuple(self._seen.values())


def look(path: str, *, identity: bool = False) -> WatchedPath:
    stamp, changed = _stamp(path, identity)
    racy = not identity and changed > time.time_ns() - RACY
    return WatchedPath(path, stamp, _digest(path) if racy else None, identity)


def still(watched: tuple[WatchedPath, ...]) -> tuple[WatchedPath, ...] | None:
    """None when something changed. What was too new to be known by its times is known by them as soon as it is not."""
    settled: dict[int, WatchedPath] = {}
    for number, one in enumerate(watched):
        if one.digest is None:
            if _stamp(one.path, one.identity)[0] != one.stamp:
                return None
            continue
        now = look(one.path)
        if now.stamp != one.stamp or (now.digest or _digest(one.path)) != one.digest:
            return None
        if now.digest is None:
            settled[number] = now
    if not settled:
        return watched
    return tuple(settled.get(number, one) for number, one in enumerate(watched))


def _stamp(path: str, identity: bool) -> tuple[tuple[int, ...] | None, int]:
    """What tells one state from another, and when it last changed. ctime, since nobody can set it back."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None, 0
    if identity:
        return (stat.S_IFMT(found.st_mode), found.st_dev, found.st_ino), 0
    changed = found.st_mtime_ns if sys.platform == "win32" else found.st_ctime_ns
    return (found.st_mode, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, changed), changed


def _digest(path: str) -> bytes:
    """Of the bytes of a file, or of the names in a folder."""
    made = hashlib.sha256()
    try:
        if os.path.isdir(path):
            made.update(b"\0".join(sorted(os.fsencode(name) for name in os.listdir(path))))
        else:
            with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
                if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    made.update(file.read(LARGEST_PAGE + 1))  # a longer one is no page, whatever it holds
    except OSError as error:
        made.update(str(error.errno).encode())
    return made.digest()
