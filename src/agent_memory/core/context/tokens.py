"""Counting tokens without knowing the model: an estimate that errs on the safe side.

Every family of models cuts text differently, but all of them spend about one token on a common word, more on a long
one, one on a punctuation mark, and nearly one a character on codes, hashes and digits. So that is what is counted.
Compared with four real tokenizers: `benchmarks/README.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from agent_memory.models.errors import InvalidInput

Counter = Callable[[str], int]

_PIECE = re.compile(
    r"(?P<word>[A-Za-z]?[a-z]+(?![A-Za-z0-9])|[A-Z]{1,12}(?![A-Za-z0-9]))"
    r"|(?P<code>[A-Za-z0-9]+)"
    r"|(?P<other>[^\x00-\x7f]+)"
    r"|(?P<mark>[ \t]{2,}|[^ \tA-Za-z0-9])"
)
FRAME = 2  # short texts are where an average is wrong most
LONG_WORD = 16


def estimate(text: str) -> int:
    """At least what the tokenizers of today's models make of it, for text that people write."""
    total = 0
    for piece in _PIECE.finditer(text):
        found = piece.group()
        if piece.lastgroup == "word":
            total += -(-len(found) // 4) if len(found) <= LONG_WORD else len(found) * 2 // 3
        elif piece.lastgroup == "code":
            total += len(found)
        elif piece.lastgroup == "other":
            total += 1 + sum(_bytes(char) for char in found)
        else:
            total += 1
    return total + FRAME if total else 0


def checked(counter: Counter) -> Counter:
    """The caller's own counter, held to what a budget needs: a whole number, and none for no text."""

    def count(text: str) -> int:
        tokens: object = counter(text)
        if not isinstance(tokens, int) or tokens < 0:
            raise InvalidInput(f"counter: gave {tokens!r}", hint="give a whole number, 0 or more", field="counter")
        return tokens

    if nothing := count(""):
        raise InvalidInput(
            f"counter: gives {nothing} for an empty text",
            hint="leave out the marks that frame a prompt: they are not part of this text",
            field="counter",
        )
    return count


def _bytes(char: str) -> int:
    size = len(char.encode())
    return size if size == 4 else size - 1
