"""What an erased record may have left elsewhere, and how it is known again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

WORD = 8  # bytes of a word's hash


class Traces:
    """What was erased in one scope: the ids, and the words of each content."""

    def __init__(self) -> None:
        self.ids: set[str] = set()
        self._contents = 0
        self._holding: defaultdict[bytes, list[int]] = defaultdict(list)  # word -> the contents that had it

    def add(self, id: str, contents: Iterable[list[bytes]]) -> None:
        self.ids.add(id)
        for content in contents:
            self._contents += 1
            for word in set(content):
                self._holding[word].append(self._contents)

    def asking(self, receipts: Iterable[tuple[int, bytes]]) -> Iterator[int]:
        """Receipts whose query has at least half of its words in one content: most likely its author said the same."""
        for receipt, terms in receipts:
            asked = words(terms)
            shared = Counter(place for word in asked for place in self._holding.get(word, ()))
            if asked and 2 * max(shared.values(), default=0) >= len(asked):
                yield receipt


def words(row: bytes, entry: int = WORD) -> list[bytes]:
    """The hashes at the front of a row that has so many bytes for each word."""
    return [row[start : start + WORD] for start in range(0, len(row) // entry * WORD, WORD)]
