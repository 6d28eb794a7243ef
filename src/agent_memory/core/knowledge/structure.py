"""A document as text with a structure: parts that follow one another without a gap, from its beginning to its end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from agent_memory.core.rules.front import front_lines
from agent_memory.core.rules.markdown import BOM, Block, MarkdownSource, blocks

PartKind = Literal["heading", "text", "list", "whole"]
LONGEST_HEADING = 200
PAUSE = "\n\n"  # between two parts that were taken out of something that is not text
_BLANK = re.compile(r"\n[ \t]*\n\s*")
_DELIMITER = frozenset("|:- \t")  # of the line below the head of a table
_WHOLE_HTML = re.compile(r"<(?:table|pre)\b", re.IGNORECASE)


class DocumentPart(NamedTuple):
    """A stretch of a document. `whole`: a code block or a table, which is never cut; a `list` is cut between its items,
    `inner`, if at all. A heading has a `title` and a `level`; one that stands in no line of the text is empty."""

    kind: PartKind
    start: int
    end: int
    title: str = ""
    level: int = 0
    page: int | None = None
    inner: tuple[DocumentPart, ...] = ()


class Structure(NamedTuple):
    """`parts` cover the `text`. `notes` tell what could not be read."""

    text: str
    parts: tuple[DocumentPart, ...]
    title: str = ""
    notes: tuple[str, ...] = ()


class Piece(NamedTuple):
    """What a parser found: a part before it has a place in the text. `items` are those of a list; the ones that are
    `uncut` hold code or a table."""

    kind: PartKind
    text: str
    level: int = 0
    items: tuple[tuple[str, bool], ...] = ()


def plain(text: str) -> Structure:
    """Paragraphs, parted by blank lines."""
    text = normal(text)
    starts = [0, *(gap.end() for gap in _BLANK.finditer(text))]
    return Structure(text, _covering([DocumentPart("text", start, start) for start in starts], len(text)))


def markdown(text: str) -> Structure:
    """CommonMark with tables. The title is the only heading of the first level, where there is one."""
    text = normal(text)
    source = MarkdownSource(text)
    found, _ = blocks(source, skip=front_lines(source.lines))
    parts = [part for block in found for part in _markdown_parts(source, block)]
    if not parts or parts[0].start > 0:
        parts.insert(0, DocumentPart("text", 0, 0))
    top = [part.title for part in parts if part.kind == "heading" and part.level == 1]
    return Structure(text, _covering(parts, len(text)), top[0] if len(top) == 1 else "")


def assembled(pieces: Sequence[Piece], title: str = "") -> Structure:
    """What a parser took out of something that is not text, as a text of its own."""
    text, parts = "", []
    for piece in pieces:
        start = len(text)
        inner, at = [], start
        for said, uncut in piece.items:
            inner.append(DocumentPart("whole" if uncut else "text", at, at + len(said) + 1))
            at += len(said) + 1
        heading = piece.text[:LONGEST_HEADING] if piece.kind == "heading" else ""
        parts.append(DocumentPart(piece.kind, start, start, heading, piece.level, inner=tuple(inner)))
        text += ("\n".join(said for said, _ in piece.items) if piece.items else piece.text) + PAUSE
    return Structure(text, _covering(parts, len(text)), title)


def paged(pages: Sequence[str], outline: Iterable[tuple[int, str, int]], title: str = "") -> Structure:
    """Texts of pages, the first is 1, and the headings (level, title, page) of an outline, in their order."""
    text, parts, empty = "", [], []
    marks = list(outline)
    for number, said in enumerate(map(normal, pages), 1):
        parts += [
            DocumentPart("heading", len(text), len(text), name[:LONGEST_HEADING], level, number)
            for level, name, page in marks
            if page == number
        ]
        parts.append(DocumentPart("text", len(text), len(text), page=number))
        text += said.strip() + PAUSE
        if not said.strip():
            empty.append(str(number))
    notes = (f"no text on pages {', '.join(empty)}: pictures are not read",) if empty else ()
    return Structure(text, _covering(parts, len(text)), title, notes)


def normal(text: str) -> str:
    return text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")


def _covering(parts: list[DocumentPart], end: int) -> tuple[DocumentPart, ...]:
    """Each part goes on to where the next one begins."""
    ends = [*(part.start for part in parts[1:]), end][: len(parts)]
    return tuple(
        part._replace(end=stop, inner=_covering(list(part.inner), stop) if part.inner else ())
        for part, stop in zip(parts, ends, strict=True)
    )


def _markdown_parts(source: MarkdownSource, block: Block) -> Iterator[DocumentPart]:
    start = source.starts[block.first]
    if block.kind == "heading":
        title = " ".join(block.content.split())[:LONGEST_HEADING]
        yield DocumentPart("heading", start, start, title, block.level)
        if block.end < len(source.starts):  # so that blank lines below it are not the heading's
            yield DocumentPart("text", source.starts[block.end], source.starts[block.end])
    elif block.kind == "list":
        items = [DocumentPart(_kind(source, item), source.starts[item.first], 0) for item in block.blocks]
        items[0] = items[0]._replace(start=start)
        yield DocumentPart("list", start, start, inner=tuple(items))
    else:
        yield DocumentPart(_kind(source, block), start, start)


def _kind(source: MarkdownSource, block: Block) -> PartKind:
    return "whole" if _is_whole(source, block) else "text"


def _is_whole(source: MarkdownSource, block: Block) -> bool:
    """Whether code or a table is in it."""
    lines = source.lines[block.first : block.end]
    match block.kind:
        case "fence" | "code_block":
            return True
        case "html_block":
            return any(_WHOLE_HTML.search(line) for line in lines)
        case "paragraph":
            return any("|" in head and "-" in row and set(row) <= _DELIMITER for head, row in pairwise(lines))
    return any(_is_whole(source, inner) for inner in block.blocks)
