"""Columns that are kept in a file instead of memory, and read a part at a time."""

from __future__ import annotations

import os
import tempfile
import weakref
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class _Nameless:
    """A file that is closed when nobody has it any more, and is gone then."""

    def __init__(self) -> None:
        self.number, name = tempfile.mkstemp(prefix="agent-memory-")
        Path(name).unlink()
        weakref.finalize(self, os.close, self.number)


class Filed:
    """Rows of int8 in a file without a name, which goes with the process; filled and read as `Growing` is. None of them
    stays in memory: a part is read when it is asked for. What is erased is overwritten."""

    nbytes = 0

    def __init__(self, width: int) -> None:
        self._width = width
        self._file = _Nameless()
        self.count = 0

    def extend(self, rows: NDArray[np.int8]) -> None:
        data, at = memoryview(np.ascontiguousarray(rows, np.int8).tobytes()), self.count * self._width
        while data:
            written = os.pwrite(self._file.number, data, at)
            data, at = data[written:], at + written
        self.count += len(rows)

    @property
    def rows(self) -> Filed:
        """As many as there are now."""
        return copy(self)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, part: slice | NDArray[np.int64]) -> NDArray[np.int8]:
        if isinstance(part, slice):
            start, end, _ = part.indices(self.count)
            return self._read(start, end - start)
        if not len(part):
            return np.empty((0, self._width), np.int8)
        first, last = int(part[0]), int(part[-1])  # in order
        if last - first < 4 * len(part):  # one read, where little of it is for nothing
            return self._read(first, last - first + 1)[part - first]
        return np.concatenate([self._read(place, 1) for place in part.tolist()])

    def __setitem__(self, which: NDArray[np.bool_], value: int) -> None:
        for place in np.flatnonzero(which).tolist():
            os.pwrite(self._file.number, np.full(self._width, value, np.int8).tobytes(), place * self._width)

    def _read(self, first: int, count: int) -> NDArray[Any]:
        data = os.pread(self._file.number, count * self._width, first * self._width)
        return np.frombuffer(data, np.int8).reshape(count, self._width)
