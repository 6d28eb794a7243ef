"""HTML as headings, paragraphs, lists, tables and code. Scripts, styles, menus and what is hidden are left out.

The parser is the standard library's, which fails on nothing. That a file was cut off is noticed where something is
still open that HTML wants closed.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from agent_memory.core.knowledge.structure import Piece, Structure, assembled

HEADINGS = {f"h{level}": level for level in range(1, 7)}
SKIPPED = frozenset("script style noscript template svg nav iframe object select button".split())
BLOCKS = frozenset(
    "p div section article main header footer aside body html figure figcaption blockquote dl dt dd form fieldset "
    "address details summary hr br tr".split()
)
CLOSED = frozenset("script style title pre table textarea".split()) | HEADINGS.keys()
LISTS = frozenset({"ul", "ol"})
_TAG = re.compile(r"<[A-Za-z/!?]")
MOST_OPEN = 500
DEEPEST = 8  # lists inside each other that are shown so


class Truncated(ValueError):
    """The text ends inside of something."""


def html(text: str) -> Structure:
    """`Truncated` names what was left open."""
    reader = _Reader()
    reader.feed(text)
    rest = reader.rawdata
    if _TAG.match(rest):  # before `close`, which tries every place in it
        raise Truncated(f"ends in the middle of a tag: {rest[:40]!r}")
    reader.close()
    if reader.open:
        raise Truncated(f"ends inside of <{reader.open[-1]}>")
    reader.paragraph()
    top = [piece.text for piece in reader.pieces if piece.kind == "heading" and piece.level == 1]
    return assembled(reader.pieces, top[0] if len(top) == 1 else " ".join(reader.title.split()))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[Piece] = []
        self.title = ""
        self.open: list[str] = []  # of what has to be closed, and of what is left out
        self._said: list[str] = []
        self._rows: list[list[str]] = []
        self._items: list[tuple[str, bool]] = []
        self._uncut = False
        self._lists = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skips() and tag not in SKIPPED:
            return
        if tag == "br":
            self._said.append("\n")
        elif self._within("table"):
            self._cell(tag)
        elif tag in LISTS:
            self._item() if self._lists else self.paragraph()
            self._lists += 1
        elif tag == "li":
            self._item()
        elif tag in BLOCKS or tag in HEADINGS or tag in ("pre", "table"):
            self._said.append("\n") if self._lists else self.paragraph()
        if tag == "img" and (named := dict(attrs).get("alt")):
            self._said.append(named)
        if tag in CLOSED or tag in SKIPPED:
            if len(self.open) >= MOST_OPEN:
                raise Truncated(f"has more than {MOST_OPEN} tags open at once")
            self.open.append(tag)
            self._uncut = self._uncut or (tag in ("pre", "table") and self._lists > 0)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            if tag in HEADINGS and not self._lists and not self._within("table"):
                self._add(Piece("heading", " ".join(self._taken().split()), HEADINGS[tag]))
            elif tag == "pre" and not self._lists and not self._within("table"):
                self._add(Piece("whole", self._taken().strip("\n")))
            elif tag == "table" and self.open.count("table") == 1:
                self._table()
            while self.open and self.open.pop() != tag:
                pass
        elif self._skips() or self._within("table"):
            return
        elif tag in LISTS and self._lists:
            self._item()
            self._lists -= 1
            if not self._lists:
                self._add(Piece("list", "", items=tuple(self._items)))
                self._items = []
        elif tag in BLOCKS and not self._lists:
            self.paragraph()

    def handle_data(self, data: str) -> None:
        if self._within("title") and not self.title:
            self.title = data
        elif not self._skips() and not self._within("title"):
            self._said.append(data if self._within("pre") else " ".join(f"_{data}_".split())[1:-1])

    def paragraph(self) -> None:
        """What was said so far stands alone."""
        if self._lists:  # a list that nobody closed
            self._item()
            self._lists = 0
            self._add(Piece("list", "", items=tuple(self._items)))
        said = "\n".join(" ".join(line.split()) for line in self._taken().splitlines()).strip()
        self._add(Piece("text", said))

    def _within(self, name: str) -> bool:
        return name in self.open

    def _skips(self) -> bool:
        return any(tag in SKIPPED for tag in self.open)

    def _add(self, piece: Piece) -> None:
        if piece.text.strip() or piece.items:
            self.pieces.append(piece)

    def _taken(self) -> str:
        said = "".join(self._said)
        self._said = []
        return said

    def _item(self) -> None:
        said, indent = self._taken().strip(), "  " * min(self._lists - 1, DEEPEST)
        if said:
            lines = said.splitlines() if self._uncut else [" ".join(said.split())]
            self._items.append((f"{indent}- " + f"\n{indent}  ".join(lines), self._uncut))
        self._uncut = False

    def _cell(self, tag: str) -> None:
        if tag == "tr":
            self._row()
            self._rows.append([])
        elif tag in ("td", "th"):
            self._row()
        elif tag in BLOCKS:
            self._said.append(" ")

    def _row(self) -> None:
        """What was said is the cell that ends here."""
        said = " ".join(self._taken().split())
        if self._rows and said:
            self._rows[-1].append(said)

    def _table(self) -> None:
        self._row()
        lines = "\n".join(" | ".join(row) for row in self._rows if row)
        self._rows = []
        if self._lists:
            self._said.append(f"\n{lines}\n")
        else:
            self._add(Piece("whole", lines))
