"""From the pieces of one written word to the words that a program gets: braces, tildes, globs, splitting.

What is certain stays text, what is known only when it runs becomes a hole (see `words`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, product

from agent_memory.core.rules.shell.words import SOME, Unclear, Word

MOST_WORDS = 64  # that one written word may become
_RANGE = re.compile(r"(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])")


@dataclass(frozen=True)
class WordPart:
    """A stretch of a written word: its text, or None for a hole. Not `quoted`: globs, braces and splitting apply.
    `split`: the value of a variable, which is split and globbed but has no braces. `spreads`: `"$@"`."""

    text: str | None
    quoted: bool
    split: bool = False
    spreads: bool = False


def expanded(pieces: list[WordPart], bash: bool = True) -> list[Word]:
    """The words that a written word becomes. Not in `bash`: braces may stay as they are."""
    plain = all(piece.text is not None and not piece.split for piece in pieces)
    if plain and not any(not piece.quoted and _special(piece.text or "") for piece in pieces):
        return [Word.of(_decoded("".join(piece.text or "" for piece in pieces)))]
    bare = "".join(piece.text or "" for piece in pieces if not (piece.quoted or piece.split))
    if "{" in bare and "}" in bare:
        atoms = [atom for piece in pieces for atom in _atoms(piece)]
        braced = _braces(atoms)
        if braced != [atoms]:
            if not bash:
                return [SOME]
            _check_variables(atoms, braced)
        return [word for one in braced for word in _finished(one)]
    return _finished(pieces)


def _special(text: str) -> bool:
    return text.startswith("~") or any(char in text for char in "*?[{")


def _atoms(piece: WordPart) -> Iterator[WordPart]:
    if piece.text is None or piece.quoted or piece.split:
        yield piece
    else:
        yield from (WordPart(char, False) for char in piece.text)


def _braces(atoms: list[WordPart]) -> list[list[WordPart]]:
    """Brace expansion, leftmost first."""
    for start, atom in enumerate(atoms):
        if _is(atom, "{"):
            parts = _parts(atoms, start)
            if parts:
                middles, end = parts
                tails = _braces(atoms[end:])
                heads = [inner for middle in middles for inner in _braces(middle)]
                if len(heads) * len(tails) > MOST_WORDS:
                    raise Unclear("braces that make too many words")
                return [[*atoms[:start], *head, *tail] for head, tail in product(heads, tails)]
    return [atoms]


def _check_variables(written: list[WordPart], words: list[list[WordPart]]) -> None:
    """Braces come before variables: of `{a,$b}c` bash makes `ac $bc`, and looks up `bc`."""
    known = {id(one) for one in written}
    beside = {(id(one), id(other)) for one, other in pairwise(written)}
    for word in words:
        for one, other in pairwise(word):
            bare = id(other) not in known or not (other.quoted or other.split)  # a range makes text of its own
            if (id(one), id(other)) not in beside and _goes_on(one, other.text if bare else None):
                raise Unclear("a variable whose name goes on after braces")


def _goes_on(one: WordPart, text: str | None) -> bool:
    """Whether a variable, or what only looks like a dollar, may have a longer name with what follows it now."""
    if one.quoted:
        return False
    variable = one.text is None or one.split
    return one.text == "$" or (variable and text is not None and (text[:1].isalnum() or text[:1] == "_"))


def _is(atom: WordPart, char: str) -> bool:
    return not atom.quoted and not atom.split and atom.text == char


def _parts(atoms: list[WordPart], start: int) -> tuple[list[list[WordPart]], int] | None:
    """The alternatives of the brace at an offset and where it ends; None: it is no brace expansion."""
    depth, parts = 0, [list[WordPart]()]
    for at in range(start, len(atoms)):
        atom = atoms[at]
        if _is(atom, "{"):
            depth += 1
        elif _is(atom, "}"):
            depth -= 1
            if not depth:
                return _alternatives(parts, at + 1)
        elif _is(atom, ",") and depth == 1:
            parts.append([])
            continue
        if at > start:
            parts[-1].append(atom)
    if len(parts) > 1:
        raise Unclear("braces that do not end")
    return None


def _alternatives(parts: list[list[WordPart]], end: int) -> tuple[list[list[WordPart]], int] | None:
    if len(parts) > 1:
        return parts, end
    text = "".join("\0" if atom.quoted or atom.text is None else atom.text for atom in parts[0])
    found = _RANGE.fullmatch(text)
    if not found:
        if ".." in text:
            raise Unclear("a range in braces")
        return None
    first, last = found.groups()
    if first.lstrip("-").isdigit() != last.lstrip("-").isdigit() or any(
        len(one) > 1 and one.lstrip("-")[0] == "0" for one in found.groups()
    ):
        raise Unclear("a range in braces")
    numbers = first.lstrip("-").isdigit()
    low, high = (int(first), int(last)) if numbers else (ord(first), ord(last))
    if abs(high - low) >= MOST_WORDS:
        raise Unclear("braces that make too many words")
    steps = range(low, high + 1) if low <= high else range(low, high - 1, -1)
    return [[WordPart(str(one) if numbers else chr(one), True)] for one in steps], end


def _finished(pieces: list[WordPart]) -> list[Word]:
    """Splitting, globs and tildes, after the braces."""
    if not pieces:
        return []
    words: list[Word] = []
    current: list[WordPart] = []
    for piece in pieces:
        if not piece.split or piece.text is None:
            current.append(piece)
            continue
        fields = re.split(r"[ \t\n]+", piece.text)
        for number, one in enumerate(fields):
            if number:
                words += _joined(current)
                current = []
            if one:
                current.append(WordPart(one, False))
    return words + _joined(current)


def _joined(pieces: list[WordPart]) -> list[Word]:
    if not pieces:
        return []
    parts: list[str | None] = []
    spreads = globs = False
    for number, piece in enumerate(pieces):
        text = piece.text
        if text is None:
            parts.append(None)
            spreads = spreads or piece.spreads or not piece.quoted
            continue
        if not piece.quoted and number == 0 and text.startswith("~"):
            text = text[1:]
            _, slash, rest = text.partition("/")
            parts += [None]
            text = slash + rest
        if not piece.quoted and any(char in text for char in "*?["):
            globs = True
            head, tail = re.split(r"[*?\[]", text, maxsplit=1)[0], re.split(r"[*?\]]", text)[-1]
            parts += [head, None, tail if "[" not in tail else ""]
        else:
            parts.append(text)
    return _shaped(_merged(parts), spreads, globs)


def _shaped(parts: tuple[str | None, ...], spreads: bool, globs: bool) -> list[Word]:
    if not spreads:
        return [Word(parts, spreads=globs, files=globs)]
    lead = parts[0]
    return [Word((lead, None)), SOME] if lead else [SOME]


def _merged(parts: list[str | None]) -> tuple[str | None, ...]:
    merged: list[str | None] = []
    for part in parts:
        if part == "":
            continue
        if merged and (part is None) == (merged[-1] is None):
            merged[-1] = None if part is None else f"{merged[-1]}{part}"
        else:
            merged.append(part)
    return tuple(one if one is None else _decoded(one) for one in merged) or ("",)


def _decoded(text: str) -> str:
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "surrogateescape")
