"""A document cut into chunks: by its headings, then by size.

No chunk crosses a heading, so that an edit changes chunks of its own section only. Code blocks and tables stay in one
piece, lists too where they fit; only what no record should hold (`LARGEST_WHOLE`) is cut between its lines. The spans
of the chunks, one after another, are the whole text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent_memory.core.knowledge.structure import DocumentPart, Structure

SIZE = 1200  # characters that a chunk is filled to
LARGEST_WHOLE = 200_000  # of a code block or a table
PATH = " > "
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n\s*")
_SPACE = re.compile(r"\s+")
_LINE = re.compile(r"\n")


class DocumentPiece(NamedTuple):
    """A chunk before it is stored. `text` is what is remembered: the headings that it stands under, and what it says.
    `page` is the first of its pages, where there are any."""

    text: str
    headings: tuple[str, ...]
    start: int
    end: int
    page: int | None = None


class _Section(NamedTuple):
    headings: tuple[str, ...]
    level: int
    parts: list[DocumentPart]


def chunks(document: Structure, title: str, size: int = SIZE) -> list[DocumentPiece]:
    """The chunks of a document that is called `title`, in their order."""
    made: list[DocumentPiece] = []
    if not document.text.strip():
        return made
    for section in _sections(document, document.title or title):
        for parts in _packed(document.text, section.parts, size):
            said = "".join(document.text[part.start : part.end] for part in parts if part.kind != "heading")
            text = f"{PATH.join(section.headings)}\n\n{_trimmed(said)}".rstrip()
            page = next((part.page for part in parts if part.page), None)
            made.append(DocumentPiece(text, section.headings, parts[0].start, parts[-1].end, page))
    return made


def _trimmed(said: str) -> str:
    """Without blank lines around it; the first line keeps its indent, which may be code's."""
    return re.sub(r"\A(?:[ \t]*\n)+", "", said).rstrip()


def _sections(document: Structure, title: str) -> Iterator[_Section]:
    """What stands under each heading. One with nothing of its own goes along with the first that is below it; blank
    lines before the first heading go with that."""
    above: list[tuple[int, str]] = []
    section = _Section((title,), 0, [])
    for part in document.parts:
        if part.kind == "heading":
            if not _bare(document.text, section.parts) or part.level <= section.level:
                yield section
                section = section._replace(parts=[])
            above = [one for one in above if one[0] < part.level] + [(part.level, part.title)]
            names = tuple(name for _, name in above if name)
            names = names if names[:1] == (title,) else (title, *names)
            section = _Section(names, part.level, section.parts)
        section.parts.append(part)
    if section.parts:
        yield section


def _packed(text: str, parts: Sequence[DocumentPart], size: int) -> Iterator[list[DocumentPart]]:
    """Filled one after another. What would be left over, and is small, goes with the one before it; what leads to a
    list, a table or code (it ends in a colon) goes with that."""
    filled: list[list[DocumentPart]] = [[]]
    for unit in _units(text, parts, size):
        if filled[-1] and _length(filled[-1]) + _length(unit) > size and not _bare(text, filled[-1]):
            filled.append([])
        filled[-1] += unit
    *_, before, last = [[], *filled]
    if before and last and _length(last) < size // 4 and _length(before) + _length(last) <= _most(size):
        filled[-2:] = [before + last]
    yield from filled


def _bare(text: str, parts: Sequence[DocumentPart]) -> bool:
    """Whether nothing but headings is there yet."""
    return all(part.kind == "heading" or not text[part.start : part.end].strip() for part in parts)


def _most(size: int) -> int:
    """With what would be too small to stand alone, and for a list that is whole then."""
    return size + size // 4


def _length(parts: Sequence[DocumentPart]) -> int:
    """Without headings: those are said by the path of the chunk."""
    return sum(part.end - part.start for part in parts if part.kind != "heading")


def _units(text: str, parts: Sequence[DocumentPart], size: int) -> Iterator[list[DocumentPart]]:
    """What stays together."""
    lead: DocumentPart | None = None
    for part in parts:
        pieces = list(_cut(text, part, size))
        if lead is not None:
            together = [lead, pieces[0]]
            if part.kind != "text" and _length(together) <= size:
                yield together
                pieces = pieces[1:]
            else:
                yield [lead]
            lead = None
        if pieces and pieces[-1].kind == "text" and text[pieces[-1].start : pieces[-1].end].rstrip().endswith(":"):
            lead = pieces.pop()
        yield from ([piece] for piece in pieces)
    if lead is not None:
        yield [lead]


def _cut(text: str, part: DocumentPart, size: int) -> Iterator[DocumentPart]:
    """A part as it is, where it fits or must not be cut; otherwise the pieces of it, none of them too large."""
    size = LARGEST_WHOLE if part.kind == "whole" else size
    if part.kind == "heading" or part.end - part.start <= (_most(size) if part.kind == "list" else size):
        yield part
    elif part.inner:
        for item in part.inner:
            yield from _cut(text, item._replace(page=part.page), size)
    else:
        yield from _split(text, part, size, (_LINE,) if part.kind == "whole" else (_SENTENCE, _SPACE))


def _split(text: str, part: DocumentPart, size: int, ways: Sequence[re.Pattern[str]]) -> Iterator[DocumentPart]:
    """Cut in the first of these ways; what is too large even so, in the next one, and at last anywhere."""
    if part.end - part.start <= size:
        yield part
        return
    said = text[part.start : part.end]
    ends = [gap.end() for gap in ways[0].finditer(said)] if ways else list(range(size, len(said), size))
    start = last = 0
    for end in (*ends, len(said)):
        if end - start > size and last > start:
            yield from _split(text, part._replace(start=part.start + start, end=part.start + last), size, ways[1:])
            start = last
        last = end
    yield from _split(text, part._replace(start=part.start + start), size, ways[1:])
