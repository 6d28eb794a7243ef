"""What the processes of one server share: which of them are ready, and how many calls each key has left.

It is a small file that all of them map into memory. A lock of the system is held for the microseconds of a change, and
falls away with a process that is killed: nobody has to be asked, and nobody can leave it locked.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_memory.core.govern.access import Bucket, Buckets, drawn

ROWS, WAYS = 2048, 8  # buckets of a table: as many rows, each with so many places
_SALT = 16
_HEAD = struct.Struct(f"<{_SALT}sQ")  # the salt, and how many workers there are; then a process for each
_PROCESS = struct.Struct("<Q")
_PLACE = struct.Struct("<Qdd")  # the digest of a name, and its bucket; all zero is free
_TABLE = ROWS * WAYS * _PLACE.size


class Board:
    """One file for a server, in a folder of its own; `make` it first. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("r+b")
        self._seen = mmap.mmap(self._file.fileno(), 0)
        self._lock = threading.Lock()
        self._salt, self.workers = _HEAD.unpack_from(self._seen)
        self.counts = path.parent / "counts"
        self.keys: Buckets = _Table(self, 0)
        self.strangers: Buckets = _Table(self, 1)

    @classmethod
    def make(cls, folder: Path, workers: int) -> Path:
        """A new one for so many processes; where it is."""
        (folder / "counts").mkdir()
        path = folder / "board"
        with path.open("wb") as file:
            file.write(_HEAD.pack(os.urandom(_SALT), workers))
            file.truncate(_tables(workers) + 2 * _TABLE)
        return path

    def ready(self) -> list[int]:
        """The processes that answer, by their numbers in the system."""
        found = struct.unpack_from(f"<{self.workers}Q", self._seen, _HEAD.size)
        return [one for one in found if one]

    def mark(self, worker: int, process: int) -> None:
        """Say which process is this worker now; 0 is none."""
        with self.changing():
            _PROCESS.pack_into(self._seen, _HEAD.size + worker * _PROCESS.size, process)

    def gone(self, process: int) -> None:
        """What it had counted stays; what it had at the moment does not."""
        for file in self.counts.glob(f"gauge_live*_{process}.db"):
            file.unlink(missing_ok=True)

    @contextmanager
    def changing(self) -> Iterator[mmap.mmap]:
        """Nobody else changes anything meanwhile, in this process or another."""
        import fcntl

        with self._lock:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                yield self._seen
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)

    def digest(self, name: str) -> int:
        """Nobody can choose names that crowd out another's: the salt is not known outside."""
        made = hashlib.blake2b(name.encode(), digest_size=8, key=self._salt).digest()
        return int.from_bytes(made, "little") or 1

    def close(self) -> None:
        self._seen.close()
        self._file.close()


def _tables(workers: int) -> int:
    """Where they begin in the file."""
    return _HEAD.size + workers * _PROCESS.size


class _Table:
    """Buckets by name. In a full row the one that was not used for longest makes room."""

    def __init__(self, board: Board, number: int) -> None:
        self._board = board
        self._at = _tables(board.workers) + number * _TABLE

    def draw(self, name: str, rate: float, seconds: float) -> float:
        digest = self._board.digest(name)
        row = self._at + digest % ROWS * WAYS * _PLACE.size
        with self._board.changing() as seen:
            places = [_PLACE.unpack_from(seen, row + way * _PLACE.size) for way in range(WAYS)]
            way = next((way for way, place in enumerate(places) if place[0] == digest), None)
            found: Bucket | None = None
            if way is None:
                way = min(range(WAYS), key=lambda one: places[one][2])
            else:
                found = places[way][1:]
            bucket, missing = drawn(found, rate, seconds)
            _PLACE.pack_into(seen, row + way * _PLACE.size, digest, *bucket)
        return missing
