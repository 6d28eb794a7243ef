"""Blocks at a terminal. A table that has too little room is a stack of small blocks: nothing is lost, whatever the
width, and ids and numbers are never broken."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from agent_memory.interfaces.cli.blocks import Block, Card, Column, Note, Sentence, Table, Under, Verbatim
from agent_memory.interfaces.cli.ids import abbreviated
from agent_memory.interfaces.cli.output import cells, shown
from agent_memory.models.visible import visible

WIDE = 120  # room for every column
NARROW = 90  # below, there are no columns
LEAST = 32  # cells that a text needs beside its columns
WRAPPED = 16  # and a column that wraps
GAP = 2
INDENT = "  "


def draw(block: Block, console: Console) -> None:
    """What is too long for a line and must stay whole is left to the terminal, which loses nothing."""
    match block:
        case Table():
            _draw_table(block, console)
        case Card(fields, body):
            _print(_card(fields, body, console), console)
        case Sentence(text, style, lead):
            say(Text.assemble((lead, style), visible(text)) if lead else Text(visible(text), style), console)
        case Verbatim(text):
            say(Text(visible(text)), console)
        case Note(text):
            say(Text(visible(text), "dim"), console)


def say(text: Text, console: Console) -> None:
    """A sentence, or several."""
    _print(wrapped(text, console.width), console)


def wrapped(text: Text, width: int) -> list[Text]:
    """Lines of whole words. (rich itself would break a long one: an id, a path, a command to copy.)"""
    lines: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        offsets, used = [], 0
        for word in re.finditer(r"\S+\s*|\s+", line.plain):
            if used and used + cell_len(word.group().rstrip()) > width:
                offsets.append(word.start())
                used = 0
            used += cell_len(word.group())
        for part in line.divide(offsets):
            part.rstrip()
            lines.append(part)
    return lines


def _print(lines: list[Text], console: Console) -> None:
    console.print(Text("\n").join(lines), no_wrap=True, overflow="ignore", crop=False)


def _draw_table(block: Table, console: Console) -> None:
    """Columns that do not fit beside the text go below it, dimmed; if that does not help, rows are stacks."""
    width = console.width
    below = [
        column.under is Under.ALWAYS or (column.under is Under.NARROW and width < WIDE) for column in block.columns
    ]
    rows = list(cells(block))
    for place, column in enumerate(block.columns):
        if column.short:
            for row, id in zip(rows, abbreviated([row[place] for row in rows]), strict=True):
                row[place] = id
    if width < NARROW or not _fits(block.columns, rows, below, width):
        stacks = [list(_stack(block.columns, row, console)) for row in rows]
        for line in (line for number in block.faint for line in stacks[number]):
            line.stylize("dim")
        return _print([line for stack in stacks for line in stack], console)
    grid = Grid(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold underline")
    for column, under in zip(block.columns, below, strict=True):
        if not under:
            last = column is block.columns[-1]
            grid.add_column(
                column.name,
                justify="right" if column.right else "left",
                style=column.style,
                no_wrap=not (last or column.wraps),
                overflow="fold",
                ratio=1 if last else None,
                min_width=min(WRAPPED, _widest(column, rows, block.columns)) if column.wraps else None,
            )
    for number, row in enumerate(rows):
        beside = [Text(text) for text, under in zip(row, below, strict=True) if not under]
        for text, under in zip(row, below, strict=True):
            if under and text:
                beside[-1] = Text.assemble(beside[-1], (f"\n{text}", "dim"))
        grid.add_row(*beside, style="dim" if number in block.faint else None)
    return console.print(grid)


def _widest(column: Column, rows: list[list[str]], columns: Sequence[Column]) -> int:
    place = columns.index(column)
    return max(cell_len(column.name), *(cell_len(row[place]) for row in rows), 0)


def _fits(columns: Sequence[Column], rows: list[list[str]], below: list[bool], width: int) -> bool:
    """Whether the text has room enough once every other column has what it needs."""
    room, needed = width, min(LEAST, _widest(columns[-1], rows, columns))
    for column, under in zip(columns[:-1], below[:-1], strict=True):
        widest = _widest(column, rows, columns)
        if not under:
            room -= GAP + (min(WRAPPED, widest) if column.wraps else widest)
        elif column.whole:
            needed = max(needed, widest)
    return room - GAP >= needed


def _stack(columns: Sequence[Column], row: list[str], console: Console) -> Iterator[Text]:
    """What it is, on as few lines as it takes; then the text, and what explains it."""
    head, under = [], []
    for column, text in sorted(zip(columns[:-1], row, strict=False), key=lambda pair: pair[0].order):
        if column.under is Under.ALWAYS:
            under.append(text)
        elif text:
            head.append((column, text))
    yield from _packed(head, console)
    yield from _indented(f"{columns[-1].name} {row[-1]}" if columns[-1].label else row[-1], "", console)
    for text in under:
        yield from _indented(text, "dim", console)


def _packed(items: list[tuple[Column, str]], console: Console) -> Iterator[Text]:
    line, width = Text(), console.width
    for column, text in items:
        item = Text.assemble((f"{column.name} ", "dim") if column.label else "", (text, column.style))
        if line and line.cell_len + GAP + item.cell_len > width:
            yield line
            line = Text()
        if item.cell_len <= width or column.whole:
            line = Text.assemble(line, " " * GAP if line else "", item)
            continue
        *full, line = wrapped(item, width)
        yield from full
    if line:
        yield line


def _indented(text: str, style: str, console: Console) -> Iterator[Text]:
    room = max(1, console.width - len(INDENT))
    for line in Text(text, style).wrap(console, room, overflow="fold"):
        line.rstrip()
        if line:
            yield Text.assemble(INDENT, line)


def _card(fields: list[tuple[str, object]], body: str, console: Console) -> list[Text]:
    """Names, and beside them values that keep to their side."""
    margin = max(len(name) for name, _ in fields) + GAP
    lines: list[Text] = []
    for name, value in fields:
        for number, part in enumerate(wrapped(Text(visible(shown(value))), console.width - margin)):
            lines.append(Text.assemble((f"{name if number == 0 else '':<{margin}}", "dim"), part))
    if body:
        lines += [Text(), *wrapped(Text(visible(body)), console.width)]
    return lines
