"""Writing an answer: rich tables at a terminal, plain lines in a pipe, JSON where it was asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from agent_memory.interfaces.cli.blocks import Block, Card, Interval, Line, Note, Table, Under, Verbatim
from agent_memory.interfaces.cli.cleaning import clean, clean_json, cut, one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

WIDE = 120
PIECE = 8192


class ReaderGone(Exception):
    """Nobody reads our output any more. (Not a BrokenPipeError: click would take it for its own.)"""


def write(blocks: Iterable[Block]) -> None:
    if sys.stdout.isatty():
        console = terminal()
        for block in blocks:
            console.print(_rich(block, console.width))
    else:
        for block in blocks:
            text = _plain(block)
            if text:
                _put(text if text.endswith("\n") else f"{text}\n")


def write_json(result: Any) -> None:
    """Stable: pydantic's spelling of times and models, in the order of their fields."""
    from pydantic_core import to_jsonable_python

    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    text = json.dumps(to_jsonable_python(result), indent=2, ensure_ascii=encoding != "utf8", allow_nan=False)
    _put(f"{clean_json(text)}\n")


def write_error(label: str, message: str, style: str) -> None:
    if not sys.stderr.isatty():
        sys.stderr.write(f"{label} {one_line(message)}\n")
        return
    from rich.text import Text

    terminal(stderr=True).print(Text.assemble((label, style), f" {one_line(message)}"))


def terminal(*, stderr: bool = False) -> Console:
    """Nothing that is printed is ever read as markup; NO_COLOR is respected."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            raise ReaderGone

    return Quiet(markup=False, emoji=False, highlight=False, stderr=stderr)


def _put(text: str) -> None:
    """As it is: `click.echo` would take escape sequences out of a text that is itself the result.
    In pieces: an unbuffered Python drops the rest of a write that a pipe takes in part."""
    try:
        for start in range(0, len(text), PIECE):
            sys.stdout.write(text[start : start + PIECE])
        sys.stdout.flush()
    except BrokenPipeError:
        raise ReaderGone from None


def shown(value: object, *, iso: bool = False) -> str:
    """One value as people read it."""
    if value is None or value == []:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        local = value.astimezone()
        return local.isoformat(timespec="seconds") if iso else local.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, Interval):
        end = "now" if value.end is None else shown(value.end, iso=iso)
        return f"{shown(value.start, iso=iso)} → {end}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple | dict):
        from pydantic_core import to_jsonable_python

        return json.dumps(to_jsonable_python(value), ensure_ascii=False)
    return str(value)


def _plain(block: Block) -> str:
    match block:
        case Table(columns, rows):
            lines = ["\t".join(column.name for column in columns)] if rows else []
            lines += ["\t".join(one_line(shown(cell, iso=True)) for cell in row) for row in rows]
            return "\n".join(lines)
        case Card(fields, body):
            lines = [f"{name}: {one_line(shown(value, iso=True))}" for name, value in fields]
            return "\n".join([*lines, *(["", clean(body)] if body else [])])
        case Line(text, _, lead):
            return clean(lead + text)
        case Verbatim(text):
            return text
        case Note():
            return ""


def _rich(block: Block, width: int) -> RenderableType:
    from rich.text import Text

    match block:
        case Table():
            return _table(block, width)
        case Card(fields, body):
            return _card(fields, body)
        case Line(text, style, lead):
            return Text.assemble((lead, style), clean(text)) if lead else Text(clean(text), style)
        case Verbatim(text):
            return Text(clean(text))
        case Note(text):
            return Text(clean(text), "dim")


def _table(block: Table, width: int) -> RenderableType:
    """Columns that do not fit beside the text go below it, dimmed."""
    from rich.table import Table as Grid
    from rich.text import Text

    below = [
        column.under is Under.ALWAYS or (column.under is Under.NARROW and width < WIDE) for column in block.columns
    ]
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")
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
            )
    for row in block.rows:
        cells = [_cell(cell, block.longest) for cell in row]
        extra = [cell for cell, under in zip(cells, below, strict=True) if under and cell.plain]
        beside = [cell for cell, under in zip(cells, below, strict=True) if not under]
        for cell in extra:
            beside[-1] = Text.assemble(beside[-1], (f"\n{cell.plain}", "dim"))
        grid.add_row(*beside)
    return grid


def _cell(value: object, longest: int) -> Text:
    from rich.text import Text

    return Text(cut(one_line(shown(value)), longest))


def _card(fields: list[tuple[str, object]], body: str) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in fields:
        grid.add_row(Text(name), Text(clean(shown(value))))
    return Group(grid, Padding(Text(clean(body)), (1, 0, 0, 0))) if body else grid
