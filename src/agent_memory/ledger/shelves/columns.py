"""Columns that grow, and numbers for texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent_memory.ledger.rows import Ended
from agent_memory.ledger.shelves.stock import Cells

NOBODYS = -1  # what no text hashes to
Types = dict[str, tuple[type, ...]]


def hashed(text: object) -> int:
    return str.__hash__(text) if isinstance(text, str) else NOBODYS  # an enum has a hash of its own


class Growing:
    """An array that is appended to. Views handed out before stay valid: rows below `count` never move."""

    def __init__(self, dtype: Any, width: int = 0) -> None:
        self._shape = (width,) if width else ()
        self._data = np.empty((0, *self._shape), dtype)
        self.count = 0

    def extend(self, rows: Any) -> None:
        needed = self.count + len(rows)
        if needed > len(self._data):
            grown = np.empty((max(needed, len(self._data) * 5 // 4 + 16), *self._shape), self._data.dtype)
            grown[: self.count] = self._data[: self.count]
            self._data = grown
        self._data[self.count : needed] = np.asarray(rows, self._data.dtype)
        self.count = needed

    @property
    def rows(self) -> NDArray[Any]:
        return self._data[: self.count]


class Numbering:
    """Small numbers for texts that repeat, in the order in which they come; 0 is for none."""

    def __init__(self) -> None:
        self._known = {NOBODYS: 0}
        self.hashes = Growing(np.int64)  # by number; those of a text are the same on every shelf
        self.hashes.extend([NOBODYS])

    def numbers(self, texts: Cells) -> list[int]:
        found, new = {}, []
        for text in dict.fromkeys(texts):
            key = hashed(text)
            if key not in self._known:
                self._known[key] = len(self._known)
                new.append(key)
            found[text] = self._known[key]
        self.hashes.extend(new)
        return [found[text] for text in texts]

    def __getitem__(self, text: str) -> int:
        """NOBODYS where it has none."""
        return self._known.get(hashed(text), NOBODYS)


def misfits(batch: Any, types: Types) -> set[int]:
    """The rows with a cell of another type: some files take anything."""
    wrong = {name: allowed for name, allowed in types.items() if not {*map(type, getattr(batch, name))} <= {*allowed}}
    return {
        place
        for name, allowed in wrong.items()
        for place, cell in enumerate(getattr(batch, name))
        if type(cell) not in allowed
    }


def standing(numbers: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where those of the asked that there are stand; `numbers` are in order."""
    places = np.searchsorted(numbers, asked)
    there: NDArray[np.int64] = places[np.append(numbers, NOBODYS)[places] == asked]
    return there


def end(numbers: Growing, ended: Growing, news: Sequence[Ended]) -> None:
    for number, line in news:
        ended.rows[standing(numbers.rows, np.array([number], np.int64))] = line
