"""SQLite's log, once everything in it has gone into the file: overwritten before its blocks go back to the disk.

SQLite cuts or removes the log, and what it held stays on the device until something else is written there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_HEADER, _FRAME = 32, 24  # bytes: of the log, and before each page in it
_ZEROS = bytes(1024 * 1024)
_READ_AND_WRITE = os.O_RDWR | getattr(os, "O_BINARY", 0)


def header(path: Path) -> bytes:
    """Another one whenever the log begins anew; empty when there is none."""
    try:
        with path.open("rb") as log:
            return log.read(_HEADER)
    except FileNotFoundError:
        return b""


def overwrite(path: Path, pages: int, page_size: int) -> None:
    """Zeros, on the disk, for all that lies beyond the pages that the log holds. For whoever has the write lock: nobody
    reads there, and whoever recovers the log after a crash stops there, zeros or not."""
    try:
        file = os.open(path, _READ_AND_WRITE)
    except FileNotFoundError:
        return
    try:
        _zero(file, _HEADER + pages * (_FRAME + page_size))
    finally:
        os.close(file)


@contextmanager
def overwritten_when_removed(path: Path) -> Iterator[None]:
    """If the log is removed in here, nothing that it held stays on the disk. Where a file that is open cannot be
    removed, it is left to SQLite alone."""
    log = None
    if os.name == "posix":
        with suppress(OSError):
            log = os.open(path, _READ_AND_WRITE)
    try:
        yield
    finally:
        if log is not None:
            with suppress(OSError):  # the disk fails, or is full: the log is gone nevertheless
                if os.fstat(log).st_nlink == 0:
                    _zero(log, 0)
            os.close(log)


def _zero(file: int, start: int) -> None:
    left = os.lseek(file, 0, os.SEEK_END) - start
    if left > 0:
        os.lseek(file, start, os.SEEK_SET)
        while left > 0:
            left -= os.write(file, _ZEROS[:left])
        os.fsync(file)
