"""Holes in a script that is read again: they go into its text as a mark, and come back out of its words."""

from __future__ import annotations

from collections.abc import Sequence

from agent_memory.core.rules.shell.words import SOME, Word

HOLE = "\ue0ff"


def requoted(word: Word) -> str:
    return (
        HOLE
        if word.spreads
        else "'" + "".join(HOLE if part is None else part for part in word.parts).replace("'", "'\\''") + "'"
    )


def holes(words: Sequence[Word]) -> list[Word]:
    """Words in which the marks of holes are holes again."""
    found: list[Word] = []
    for word in words:
        if any(part and HOLE in part for part in word.parts):
            parts: list[str | None] = []
            for part in word.parts:
                pieces = [None] if part is None else [one for text in part.split(HOLE) for one in (None, text)][1:]
                parts += [one for one in pieces if one != ""]
            merged = tuple(
                one
                for number, one in enumerate(parts)
                if one is not None or not number or parts[number - 1] is not None
            )
            found += [Word(merged or (None,)), SOME] if merged[:1] != (None,) else [SOME]
        else:
            found.append(word)
    return found
