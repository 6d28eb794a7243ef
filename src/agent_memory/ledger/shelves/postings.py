"""Which contents hold which words, or have which fields: a forward index, turned around in memory.

An engine has one row for each content, with the hashes and counts of its words, so that a write touches one page and an
erasure removes one row. Here the pairs are sorted by word once; what comes later waits in a short tail.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

ENTRY = 9  # bytes of one word in a row: eight of hash, one of count
TAIL = 50_000  # pairs that may wait unsorted
RUNS = 64  # in so many pieces


_Pairs = tuple[NDArray[np.uint64], NDArray[np.int32], NDArray[np.uint8]]


class Postings:
    def __init__(self) -> None:
        self._words: NDArray[np.uint64] = np.empty(0, np.uint64)  # sorted
        self._places: NDArray[np.int32] = np.empty(0, np.int32)
        self._counts: NDArray[np.uint8] = np.empty(0, np.uint8)
        self._tail: list[_Pairs] = []
        self._waiting = 0

    def extend(self, first: int, rows: Sequence[bytes]) -> None:
        """Rows of the contents that stand at `first`, `first` + 1, …"""
        sizes = np.array([len(row) // ENTRY for row in rows], np.int64)
        words = np.frombuffer(b"".join(row[: size * 8] for row, size in zip(rows, sizes, strict=True)), "<u8")
        counts = np.frombuffer(b"".join(row[size * 8 :] for row, size in zip(rows, sizes, strict=True)), np.uint8)
        self.add(words, np.repeat(np.arange(first, first + len(rows), dtype=np.int32), sizes), counts)

    def add(
        self, words: NDArray[np.uint64], places: NDArray[np.int32], counts: NDArray[np.uint8] | None = None
    ) -> None:
        if not len(words):
            return
        self._tail.append((words, places, np.ones(len(words), np.uint8) if counts is None else counts))
        self._waiting += len(words)
        if len(self._tail) > RUNS:
            self._tail = [_joined(self._tail)]
        if not len(self._words) or self._waiting > max(TAIL, len(self._words) // 8):
            self._settle()

    def find(self, word: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """The places of the contents with this word, and how often each has it."""
        key = np.uint64(word)
        start, end = np.searchsorted(self._words, key), np.searchsorted(self._words, key, "right")
        places, counts = [self._places[start:end]], [self._counts[start:end]]
        for words, tail_places, tail_counts in self._tail:
            here = words == key
            places.append(tail_places[here])
            counts.append(tail_counts[here])
        return np.concatenate(places), np.concatenate(counts)

    def among(self, words: NDArray[np.uint64]) -> NDArray[np.int32]:
        """The places of all that have one of these, each of which is asked for once."""
        start, end = np.searchsorted(self._words, words), np.searchsorted(self._words, words, "right")
        sizes = end - start
        inside = np.repeat(end - np.cumsum(sizes), sizes) + np.arange(sizes.sum())
        return np.concatenate([self._places[inside], *(places[np.isin(one, words)] for one, places, _ in self._tail)])

    def drop(self, gone: NDArray[np.bool_]) -> None:
        """Of the places that are gone, no word is left."""
        self._words, self._places, self._counts = _without(gone, self._words, self._places, self._counts)
        self._tail = [_without(gone, *one) for one in self._tail]
        self._waiting = sum(len(words) for words, _, _ in self._tail)

    def _settle(self) -> None:
        words, places, counts = _joined([(self._words, self._places, self._counts), *self._tail])
        order = np.argsort(words, kind="stable")
        self._words, self._places, self._counts = words[order], places[order], counts[order]
        self._tail, self._waiting = [], 0

    @property
    def bytes(self) -> int:
        return (len(self._words) + self._waiting) * 13


def _without(
    gone: NDArray[np.bool_], words: NDArray[np.uint64], places: NDArray[np.int32], counts: NDArray[np.uint8]
) -> _Pairs:
    left = ~gone[places]
    return words[left], places[left], counts[left]


def _joined(parts: Sequence[_Pairs]) -> _Pairs:
    words, places, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    return words, places, counts
