"""Pages on the disk. A link may lead anywhere inside the repository but not into git's own folder; a pipe, a device or
a folder that is called like a page is none, and is never opened in a way that could wait."""

from __future__ import annotations

import errno
import os
import stat

from agent_memory.engines.git.files import CIRCLE, LARGE, NOWHERE, OUTSIDE, PageBytes, UnreadablePath
from agent_memory.engines.git.layout import below
from agent_memory.engines.git.watch import PathWatch
from agent_memory.ports.pages import LARGEST_PAGE

FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Disk:
    """A folder and what is below it; `private` are folders in it that no link may lead into. `anywhere`: the folder is
    the user's own, and so are its links."""

    def __init__(self, root: str, watch: PathWatch, private: tuple[str, ...] = (), *, anywhere: bool = False) -> None:
        self._root = root
        self._watch = watch
        self._private = private
        self._anywhere = anywhere

    def has(self, path: str) -> bool:
        whole = self._whole(path)
        self._watch.see(whole)
        return os.path.lexists(whole)

    def names(self, path: str) -> list[str]:
        whole = self._whole(path)
        self._watch.see(whole)
        if not os.path.isdir(whole):
            if os.path.islink(whole):
                self.real(path)
            return []
        self.real(path)
        try:
            return os.listdir(whole)
        except OSError as error:
            raise UnreadablePath(_why(error)) from None

    def real(self, path: str) -> str:
        try:
            resolved = os.path.realpath(self._whole(path), strict=True)
        except OSError as error:
            raise UnreadablePath(_why(error)) from None
        if self._anywhere:
            return resolved
        inside = below(self._root, resolved)
        if inside is None or any(below(one, resolved) is not None for one in self._private):
            raise UnreadablePath(OUTSIDE)
        return inside

    def read(self, path: str) -> PageBytes:
        self._watch.see(self._whole(path))
        real = self.real(path)
        try:
            return PageBytes(_bytes(self._whole(real)), real)
        except OSError as error:
            raise UnreadablePath(_why(error)) from None

    def _whole(self, path: str) -> str:
        return path if os.path.isabs(path) else os.path.join(self._root, *path.split("/"))


def _bytes(path: str) -> bytes:
    with open(os.open(path, FLAGS), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise UnreadablePath("is not a file")
        data = file.read(LARGEST_PAGE + 1) if found.st_size <= LARGEST_PAGE else b""
    if max(found.st_size, len(data)) > LARGEST_PAGE:
        raise UnreadablePath(LARGE)
    return data


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return CIRCLE
    if error.errno == errno.ENOENT:
        return NOWHERE
    if error.errno == errno.EISDIR:
        return "is not a file"
    return f"cannot be read: {os.strerror(error.errno) if error.errno else error}"
