"""What an erased record may have left elsewhere, and how it is known again."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

from agent_memory.ports.changes import APART

WORD = 8  # bytes of a word's hash
ENTRY = WORD + 1  # of a word that is stored: behind the hashes of all stands how often each occurs


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
        """Receipts whose query has at least half of its words in one content: most likely its author said the same. In
        whichever vocabulary: a content has words of one."""
        return (receipt for receipt, terms in receipts if any(map(self._said, questions(terms))))

    def _said(self, asked: list[bytes]) -> bool:
        shared = Counter(place for word in asked for place in self._holding.get(word, ()))
        return 2 * max(shared.values(), default=0) >= len(asked)


def questions(terms: bytes) -> Iterator[list[bytes]]:
    """The words of a query in each vocabulary that has some of them."""
    return (list(part) for apart, part in groupby(words(terms), APART.__eq__) if not apart)


def words(row: bytes, entry: int = WORD) -> list[bytes]:
    """The hashes at the front of a row that has so many bytes for each word."""
    return [row[start : start + WORD] for start in range(0, len(row) // entry * WORD, WORD)]
