"""BERT's uncased WordPiece in plain Python: a text becomes the ids that the encoder was trained on.

It exists so that the base install needs no tokenizer package (the usual one brings a model hub's client with
it). The ids are those of the Rust `tokenizers` for the same vocabulary (compared over all of Unicode: 503 code
points newer than its tables differ), with two exceptions, both wanted: markers such as `[SEP]` in a text are
ordinary characters, and a run of more than 512 characters without a space, an ASCII punctuation mark or an
ideograph is cut into runs of 512, so that no input costs more than its length.

Reading is lazy: whoever stops after 256 pieces has not paid for the other ten megabytes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from unicodedata import category, normalize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_memory.engines.onnx.vocabulary import PieceVocabulary

UNKNOWN, START, END = 100, 101, 102  # [UNK], [CLS], [SEP]
LONGEST_WORD = 100  # BERT's own bound: a longer word is unknown
LONGEST_UNIT = 512
CACHED_WORDS = 8192  # about 2 MB when full

# What separates words wherever it stands. The ideographs are BERT's list, with the gap at U+2B820 that the
# Rust tokenizer has; white space leaves out the control characters that BERT deletes (\v, \f, U+0085, …).
_SPACE = "\t\n\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_MARKS = r"!-/:-@\[-`{-~"
_IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f"
    "\U0002b740-\U0002b81f\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f"
)
_UNIT = re.compile(f"[{_MARKS}{_IDEOGRAPHS}]|[^{_SPACE}{_MARKS}{_IDEOGRAPHS}]{{1,{LONGEST_UNIT}}}", re.DOTALL)
_ASCII_MARK = re.compile(f"[{_MARKS}]")
_DELETED = frozenset({"Cc", "Cf", "Co", "Cs"})


class WordUnit(NamedTuple):
    """The smallest stretch that is read by itself, `text[start:end]`, and its pieces (none, if it is invisible)."""

    start: int
    end: int
    ids: tuple[int, ...]


class WordPiece:
    """Safe to share between threads."""

    def __init__(self, vocabulary: PieceVocabulary) -> None:
        self._vocabulary = vocabulary
        self._read = lru_cache(CACHED_WORDS)(self._pieces)

    def units(self, text: str) -> Iterator[WordUnit]:
        """The text's units in order, read as they are asked for."""
        for found in _UNIT.finditer(text):
            yield WordUnit(found.start(), found.end(), self._read(found.group()))

    def encode(self, text: str, limit: int) -> list[int]:
        """Ids with the two marks that frame every text; what does not fit into `limit` is left out."""
        ids = [START]
        for unit in self.units(text):
            ids += unit.ids
            if len(ids) >= limit - 1:
                del ids[limit - 1 :]
                break
        ids.append(END)
        return ids

    def count(self, text: str) -> int:
        """How many pieces a text has, without the marks that frame it."""
        return sum(len(unit.ids) for unit in self.units(text))

    def _pieces(self, unit: str) -> tuple[int, ...]:
        return tuple(number for word in _words(unit) for number in self._match(word))

    def _match(self, word: str) -> list[int]:
        """Greedy: the longest piece that the vocabulary knows, then the longest of the rest."""
        if len(word) > LONGEST_WORD:
            return [UNKNOWN]
        ids: list[int] = []
        at = 0
        while at < len(word):
            prefix = "##" if at else ""
            for end in range(min(len(word), at + self._vocabulary.longest), at, -1):
                number = self._vocabulary.find(prefix + word[at:end])
                if number is not None:
                    ids.append(number)
                    at = end
                    break
            else:
                return [UNKNOWN]
        return ids


def _words(unit: str) -> list[str]:
    """What BERT makes of one unit: invisible characters and accents go, capitals fold, punctuation stands alone."""
    if unit.isascii() and unit.isalnum():
        return [unit.lower()]
    visible = "".join(char for char in unit if char != "\ufffd" and category(char) not in _DELETED)
    folded = []
    for char in normalize("NFD", visible):
        kind = category(char)
        if kind == "Mn":
            continue
        # One character at a time: str.lower() on the word would give a final sigma its own form, BERT does not.
        alone = kind[0] == "P" or _ASCII_MARK.match(char)
        folded.append(f" {char} " if alone else char.lower())
    return "".join(folded).split()
