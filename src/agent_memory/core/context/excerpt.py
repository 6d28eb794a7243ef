"""The stretch of a long text that has most to do with a task, cut to a number of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent_memory.core.context.tokens import Counter
from agent_memory.core.write.words import word_hash, words

_SENTENCE = re.compile(r"\S.*?(?:[.!?。！？](?=\s|$)|\n|$)", re.DOTALL)
ELLIPSIS = "…"
LONGEST_SENTENCE = 400  # characters; what goes on longer is cut into pieces of this size
MOST_READ = 100_000  # characters of a text that are looked at


def excerpt(text: str, task: frozenset[bytes], limit: int, count: Counter) -> tuple[str, bool]:
    """The text if it fits into `limit` tokens, else its best stretch of whole sentences; and whether it was cut.

    The stretch grows from the sentence with the most words of the task, forwards first. Empty, if nothing fits.
    """
    if count(text) <= limit:
        return text, False
    sentences = _sentences(text[:MOST_READ])
    if not sentences:
        return "", True
    hits = [len(task & {word_hash(word) for word in words(text[start:end])}) for start, end in sentences]
    first, last = _stretch(sentences, hits.index(max(hits)), limit, lambda at: count(text[slice(*sentences[at])]))
    while count(shown := _shown(text, sentences, first, last)) > limit:
        if first == last:
            return _clipped(text[slice(*sentences[first])], limit, count), True
        last -= 1
        first = min(first, last)
    return shown, True


def task_words(task: str) -> frozenset[bytes]:
    """The words of a task, as sentences are compared with them."""
    return frozenset(hashed for hashed in map(word_hash, words(task)) if hashed)


def _sentences(text: str) -> list[tuple[int, int]]:
    return [
        (start, min(match.end(), start + LONGEST_SENTENCE))
        for match in _SENTENCE.finditer(text)
        for start in range(match.start(), match.end(), LONGEST_SENTENCE)
    ]


def _stretch(sentences: list[tuple[int, int]], best: int, limit: int, size: Callable[[int], int]) -> tuple[int, int]:
    """From the best sentence on to as many others as fit, if tokens add up: forwards first, then backwards."""
    first = last = best
    left = limit - size(best)
    for step in (1, -1):
        while 0 <= (nearby := (last if step > 0 else first) + step) < len(sentences) and (cost := size(nearby)) <= left:
            left -= cost
            first, last = min(first, nearby), max(last, nearby)
    return first, last


def _shown(text: str, sentences: list[tuple[int, int]], first: int, last: int) -> str:
    start, end = sentences[first][0], sentences[last][1]
    before = ELLIPSIS if text[:start].strip() else ""
    after = ELLIPSIS if text[end:].strip() else ""
    return f"{before}{text[start:end].strip()}{after}"


def _clipped(sentence: str, limit: int, count: Counter) -> str:
    """As much of the beginning as fits, by halves."""
    low, high = 0, len(sentence)
    while low < high:
        middle = (low + high + 1) // 2
        if count(sentence[:middle].rstrip() + ELLIPSIS) <= limit:
            low = middle
        else:
            high = middle - 1
    return sentence[:low].rstrip() + ELLIPSIS if low else ""
