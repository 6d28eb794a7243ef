"""A Unix socket to listen on: for whoever shares a machine, since a port of it can be reached by every user there."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent_memory.models.errors import InvalidInput

MODE = 0o600


@contextmanager
def listening_at(path: Path) -> Iterator[socket.socket]:
    """A socket that only its owner can reach, from the first moment, and that is removed at the end. One that a killed
    server left behind is replaced; another file, or a socket that somebody listens on, is not."""
    with _alone(path.parent):
        _make_room(path)
        opened = _bound(path)
    ours = path.lstat().st_ino
    try:
        yield opened
    finally:
        opened.close()
        with suppress(OSError):  # it is gone already
            if path.lstat().st_ino == ours:
                path.unlink()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Of two servers that start at once, one replaces what was left behind, and the other finds the one."""
    try:
        import fcntl

        held = os.open(folder, os.O_RDONLY)
    except (OSError, ImportError) as error:
        raise _unusable(f"{folder}: {getattr(error, 'strerror', None) or 'no Unix sockets on this system'}") from None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise _unusable(f"another server is starting in {folder}", "try again in a moment") from None
    finally:
        os.close(held)


def _make_room(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise _unusable(f"{path} is not a socket, and is left as it is", "name another path")
    with socket.socket(socket.AF_UNIX) as asking:
        try:
            asking.settimeout(1)
            asking.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()  # nobody listens
            return
        except OSError as error:
            raise _unusable(f"{path} is there, and cannot be asked whether it is in use: {error.strerror}") from None
    raise _unusable(f"another server listens at {path}", "stop it, or name another path")


def _bound(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o777 & ~MODE)  # a mode that is set later would come too late
    try:
        made.bind(str(path))
        made.listen(2048)
    except OSError as error:
        made.close()
        why = error.strerror or str(error)  # a path that is too long has no errno
        raise _unusable(f"cannot listen at {path}: {why}", "name a short path in a folder of your own") from None
    finally:
        os.umask(before)
    return made


def _unusable(why: str, hint: str = "name a path in a folder of your own") -> InvalidInput:
    return InvalidInput(f"socket: {why}", hint=hint, field="socket")
