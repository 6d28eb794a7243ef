"""Markdown as blocks with their lines. A real CommonMark parser reads it; nothing is guessed from how a line looks.

Inline text is parsed only where a rule is, and nesting is bounded, so a hostile page costs no more than a long one.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

DEEPEST = 20  # levels of nesting: ten lists inside each other
LONGEST_PARAGRAPH = 20_000  # characters of one that is looked into
_BREAK = re.compile(r"\r\n?|\n")
BOM = "\ufeff"


class MarkdownSource:
    """A text, its lines without their ends, and where in it each of them begins. Lines count from 0 in here."""

    def __init__(self, text: str) -> None:
        self.text = text
        start = len(BOM) if text.startswith(BOM) else 0
        ends = list(_BREAK.finditer(text))
        self.starts = [start, *(end.end() for end in ends)]
        stops = [*(end.start() for end in ends), len(text)]
        self.lines = [text[begin:end].replace("\0", "\ufffd") for begin, end in zip(self.starts, stops, strict=True)]

    def between(self, first: int, end: int) -> str:
        """Some lines, without blank ones around them and without the indent that all of them share."""
        lines = self.lines[first:end]
        while lines and not lines[0].strip():
            lines.pop(0)
        while lines and not lines[-1].strip():
            lines.pop()
        indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        return "\n".join(line[indent:] for line in lines)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a place in the text, from 0."""
        line = max(0, bisect.bisect_right(self.starts, offset) - 1)
        return line, max(0, offset - self.starts[line])


@dataclass(frozen=True)
class InlineSpan:
    """A piece of inline Markdown: `text` or `code`, and where in the paragraph it begins, as far as can be told."""

    kind: str
    text: str
    at: int


@dataclass(frozen=True)
class Block:
    """A paragraph, heading, list, item or something else, and the lines it takes: the first, and the one after."""

    kind: str
    first: int
    end: int
    content: str = ""
    level: int = 0
    blocks: tuple[Block, ...] = ()

    def lists(self) -> Iterator[Block]:
        return (block for block in self.blocks if block.kind == "list")


def blocks(source: MarkdownSource, skip: int = 0) -> tuple[tuple[Block, ...], int | None]:
    """The blocks of a page, and the first line that is nested too deeply to be read. `skip` lines are front matter."""
    from markdown_it.tree import SyntaxTreeNode

    text = "\n".join(["" if number < skip else line for number, line in enumerate(source.lines)])
    tokens = _parsers()[0].parse(text)
    deep = next((token.map[0] for token in tokens if token.map and token.level >= DEEPEST - 1), None)
    return tuple(_block(node) for node in SyntaxTreeNode(tokens).children), deep


def spans(content: str) -> list[InlineSpan]:
    """A paragraph as text and code, in their order. Comments and tags are neither."""
    found: list[InlineSpan] = []
    at = 0
    inline = _parsers()[1].parseInline(content[:LONGEST_PARAGRAPH])
    for token in [token for one in inline for token in one.children or []]:
        if token.type == "code_inline":
            at = max(at, content.find(token.markup, at))
            found.append(InlineSpan("code", token.content, at))
            at += len(token.markup) * 2 + len(token.content)
        elif token.type in ("text", "text_special", "entity"):
            begin = content.find(token.content, at)
            found.append(InlineSpan("text", token.content, begin if begin >= 0 else at))
            at = begin + len(token.content) if begin >= 0 else at
        elif token.type in ("softbreak", "hardbreak"):
            found.append(InlineSpan("text", "\n", at))
        elif token.type == "html_inline":
            at = max(at, content.find(token.content, at) + len(token.content))
        elif token.type == "strong_open":
            found.append(InlineSpan("strong", token.markup, at))
        elif token.type == "strong_close":
            found.append(InlineSpan("end", token.markup, at))
    return found


def start(source: MarkdownSource, block: Block) -> int | None:
    """Where in the text a paragraph begins; None if that cannot be told."""
    column = _column(source.lines[block.first], block.content.partition("\n")[0])
    return None if column is None else source.starts[block.first] + column


def within(source: MarkdownSource, block: Block, at: int) -> tuple[int, int]:
    """Line and column, from 0, of a place in a paragraph; the column as far as it can be told."""
    inside = block.content[:at].rpartition("\n")[2]
    number = block.content[:at].count("\n")
    row = block.content.split("\n")[number]
    line = min(block.first + number, len(source.lines) - 1)
    lead = len(row) - len(row.lstrip())
    return line, (_column(source.lines[line], row) or 0) + max(0, len(inside) - lead)


def _column(line: str, row: str) -> int | None:
    """A row of a paragraph goes on to the end of its line: so it begins where what is left of the line does."""
    line, row = line.rstrip(), row.strip()
    return len(line) - len(row) if row and line.endswith(row) else None


@functools.cache
def _parsers() -> tuple[MarkdownIt, MarkdownIt]:
    """Made when first needed. One that leaves paragraphs as they are, and one for a paragraph. Links are text to us."""
    from markdown_it import MarkdownIt

    whole, paragraph = (MarkdownIt("commonmark", {"maxNesting": DEEPEST}) for _ in range(2))
    return whole.disable("inline"), paragraph.disable(["link", "image"])


def _block(node: SyntaxTreeNode) -> Block:
    first, end = node.map or (0, 0)
    kind = {"bullet_list": "list", "ordered_list": "list", "list_item": "item"}.get(node.type, node.type)
    if kind in ("paragraph", "heading"):
        (inline,) = node.children
        level = int(node.tag[1:]) if kind == "heading" else 0
        return Block(kind, first, end, inline.content, level)
    if kind in ("list", "item", "blockquote"):
        return Block(kind, first, end, blocks=tuple(_block(child) for child in node.children))
    return Block(kind, first, end)
