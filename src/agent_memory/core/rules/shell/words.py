"""What a shell would run, as values: words with holes, commands made of words, and everything that a line could run.

A hole is a part that is known only when the line runs. `Word.parts` holds texts and holes (None); a word that
`spreads` stands for any number of words, none included, each of which fits its parts.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self


@dataclass(frozen=True)
class Word:
    parts: tuple[str | None, ...]
    spreads: bool = False
    files: bool = False
    """It spreads into the names of files (a glob), which are taken for no options."""

    @classmethod
    def of(cls, text: str) -> Self:
        return cls((text,))

    @cached_property
    def text(self) -> str | None:
        """The word itself, where it is known."""
        return self.parts[0] if len(self.parts) == 1 and not self.spreads else None

    @cached_property
    def lead(self) -> str:
        """What it surely begins with."""
        return self.parts[0] or ""

    def __str__(self) -> str:
        shown = "".join("…" if part is None else part for part in self.parts)
        return shown if self.text is None else shlex.quote(shown)


ENDINGS = (".exe", ".cmd", ".bat", ".com")

ANY = Word((None,))
SOME = Word((None,), spreads=True)
FILES = Word((None,), spreads=True, files=True)


@dataclass(frozen=True)
class Argv:
    """One command: a program and its words. Not `certain`: it is one of several readings of what was written. `typed`:
    the command that comes to this one (see `meaning`)."""

    words: tuple[Word, ...]
    certain: bool = True
    typed: Self | None = None

    @classmethod
    def of(cls, words: Iterable[str]) -> Self:
        return cls(tuple(map(Word.of, words)))

    @cached_property
    def program(self) -> Word:
        """The base name, without case and the ending of Windows: `/usr/bin/git`, `./git` and `Git.exe` are git."""
        first = self.words[0]
        last = first.parts[-1]
        if last is None or first.spreads:
            return first
        base = last.replace("\\", "/").rpartition("/")[2]
        parts = (base,) if "/" in last or "\\" in last else (*first.parts[:-1], base)
        name = base.lower()
        return Word((*parts[:-1], name[:-4] if name.endswith(ENDINGS) else name))

    @cached_property
    def _hashed(self) -> int:
        return hash((self.words, self.certain))

    def __hash__(self) -> int:
        return self._hashed  # asked once for each pattern

    def __str__(self) -> str:
        return " ".join(map(str, self.words))


@dataclass(frozen=True)
class Understood:
    """Every command that a line could run. With a `doubt` there may be others, and it says why. `writes` are the files
    that it is seen to write, move or remove, from where it begins."""

    commands: tuple[Argv, ...]
    doubt: str | None = None
    writes: tuple[Word, ...] = ()


class Unclear(Exception):
    """Something cannot be told before it runs; it ends as a doubt, and never leaves this folder."""
