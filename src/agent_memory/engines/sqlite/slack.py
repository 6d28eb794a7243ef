"""The unused middle of SQLite's pages, overwritten in place.

`secure_delete` zeroes what is deleted, and whole pages that become free. One place is left out: when SQLite moves rows
to a neighbouring page, it writes the page anew and leaves what lies between its list of cells and its first cell as it
was: old copies of rows, also of such as are deleted later. Nothing ever reads these bytes. So zeros there change
nothing that SQLite sees, whether all, some or none of them reach the disk before a crash.

Only pages that a walk from the roots reaches as parts of a tree are touched, and only if the whole walk made sense.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

from agent_memory.models.errors import StoreError

_INNER = (2, 5)
_KINDS = (2, 5, 10, 13)  # of index or table: with children, without
_HEAD, _CHILD = struct.Struct(">BHHH"), struct.Struct(">I")  # kind, first free block, cells, where they begin
_MAGIC = b"SQLite format 3\0"
_READ_AND_WRITE = os.O_RDWR | getattr(os, "O_BINARY", 0)

# POSIX ends all locks that a process has on a file as soon as it closes any descriptor of it, also those of SQLite. So
# these stay open for as long as the file exists.
_kept: dict[tuple[int, int], int] = {}


def sweep(path: Path, roots: Iterable[int]) -> int:
    """Overwrite what is left between the rows of these trees; how many bytes that took. For whoever holds the write
    lock while the log is empty: then nobody else changes the file."""
    file = _opened(path)
    gaps = list(_Walk(file, path).gaps(roots))
    for start, length in gaps:
        os.lseek(file, start, os.SEEK_SET)
        os.write(file, bytes(length))
    if gaps:
        os.fsync(file)
    return sum(length for _, length in gaps)


class _Walk:
    """Over all pages of some trees, in a file that stands still."""

    def __init__(self, file: int, path: Path) -> None:
        self._file = file
        self._path = path
        head = self._read(0, 100)
        size = int.from_bytes(head[16:18], "big")
        self._page = 65536 if size == 1 else size
        self._pages = int.from_bytes(head[28:32], "big")
        if head[:16] != _MAGIC or head[20] or self._page < 512:
            raise self._strange(1)

    def gaps(self, roots: Iterable[int]) -> Iterator[tuple[int, int]]:
        """(where, how many bytes) of each unused middle that is not all zeros."""
        waiting, seen = list(roots), set()
        while waiting:
            number = waiting.pop()
            if number in seen or not 1 <= number <= self._pages:
                raise self._strange(number)
            seen.add(number)
            page = self._read((number - 1) * self._page, self._page)
            head = 100 if number == 1 else 0
            kind, _, cells, end = _HEAD.unpack_from(page, head)
            first = head + (12 if kind in _INNER else 8)
            begin, end = first + 2 * cells, end or 65536
            if kind not in _KINDS or not begin <= end <= self._page:
                raise self._strange(number)
            if kind in _INNER:
                places = struct.unpack_from(f">{cells}H", page, first)
                waiting += [_CHILD.unpack_from(page, at)[0] for at in (*places, head + 8)]
            if page.count(0, begin, end) != end - begin:
                yield (number - 1) * self._page + begin, end - begin

    def _read(self, start: int, length: int) -> bytes:
        os.lseek(self._file, start, os.SEEK_SET)
        found = os.read(self._file, length)
        if len(found) != length:
            raise self._strange(start // max(length, 1) + 1)
        return found

    def _strange(self, number: int) -> StoreError:
        return StoreError(f"page {number} is not as expected: {self._path}", hint="run `agent-memory doctor`")


def _opened(path: Path) -> int:
    for place in [place for place, file in _kept.items() if not os.fstat(file).st_nlink]:
        os.close(_kept.pop(place))  # removed: nobody's locks on it matter any more
    found = path.stat()
    file = _kept.get((found.st_dev, found.st_ino))
    if file is None:
        file = _kept[found.st_dev, found.st_ino] = os.open(path, _READ_AND_WRITE)
    return file
