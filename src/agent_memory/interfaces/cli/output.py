"""Writing an answer: rich tables at a terminal, plain lines in a pipe, JSON where it was asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TextIO

from agent_memory.interfaces.cli.blocks import Block, Card, Interval, Note, Sentence, Table, Verbatim
from agent_memory.interfaces.cli.cleaning import clean_json, cut, one_line
from agent_memory.models.visible import visible

if TYPE_CHECKING:
    from rich.console import Console

PIECE = 8192


class ReaderGone(Exception):
    """Nobody reads our output any more. (Not a BrokenPipeError: click would take it for its own.)"""


def write(blocks: Iterable[Block], *, stderr: bool = False) -> None:
    stream: TextIO = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        from agent_memory.interfaces.cli import screen

        console = terminal(stderr=stderr)
        for block in blocks:
            screen.draw(block, console)
    else:
        for block in blocks:
            text = _plain(block)
            if text:
                _put(text if text.endswith("\n") else f"{text}\n", stream)


def write_json(result: Any, moments: Mapping[str, Any] = MappingProxyType({})) -> bool:
    """Stable: pydantic's spelling of times and models, in the order of their fields. The `moments` that were asked for
    are fields of what does not have them by itself; False where nothing can have them."""
    from pydantic_core import to_jsonable_python

    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    plain, taken = to_jsonable_python(result), to_jsonable_python(dict(moments))
    objects = [one for one in (plain if isinstance(plain, list) else [plain]) if isinstance(one, dict)]
    for one in objects:
        one |= {name: at for name, at in taken.items() if one.get(name) is None}
    _put(f"{clean_json(json.dumps(plain, indent=2, ensure_ascii=encoding != 'utf8', allow_nan=False))}\n")
    return bool(objects)


def write_error(label: str, message: str, style: str) -> None:
    if not sys.stderr.isatty():
        sys.stderr.write(f"{label} {one_line(message)}\n")
        return
    from rich.text import Text

    from agent_memory.interfaces.cli import screen

    screen.say(Text.assemble((label, style), f" {one_line(message)}"), terminal(stderr=True))


def terminal(*, stderr: bool = False) -> Console:
    """Nothing that is printed is ever read as markup; NO_COLOR is respected."""
    from rich.console import Console

    class Quiet(Console):
        def on_broken_pipe(self) -> None:
            raise ReaderGone

    return Quiet(markup=False, emoji=False, highlight=False, stderr=stderr)


def _put(text: str, stream: TextIO | None = None) -> None:
    """As it is: `click.echo` would take escape sequences out of a text that is itself the result.
    In pieces: an unbuffered Python drops the rest of a write that a pipe takes in part."""
    stream = stream or sys.stdout
    try:
        for start in range(0, len(text), PIECE):
            stream.write(text[start : start + PIECE])
        stream.flush()
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as error:
        from agent_memory.models.errors import InvalidInput

        raise InvalidInput(
            f"the output cannot be written: {error.strerror}", hint="make room, or send it elsewhere"
        ) from None


def shown(value: object, *, iso: bool = False) -> str:
    """One value as people read it."""
    if value is None or value in ([], {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        local = value.astimezone()
        return local.isoformat(timespec="seconds") if iso else local.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, Interval):
        start = shown(value.start, iso=iso)
        if value.end is None and value.start > datetime.now(UTC):
            return f"from {start}"
        return f"{start} → {'now' if value.end is None else shown(value.end, iso=iso)}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple | dict) or hasattr(value, "model_dump"):
        from pydantic_core import to_jsonable_python

        return json.dumps(to_jsonable_python(value, exclude_none=True), ensure_ascii=False)
    return str(value)


def cells(table: Table, *, iso: bool = False) -> Iterator[list[str]]:
    """Rows as texts of one line each; only the text, and what wraps, may be cut."""
    last = table.columns[-1]
    for row in table.rows:
        texts = [one_line(shown(cell, iso=iso)) for cell in row]
        yield [
            cut(text, table.longest) if table.longest and (column is last or column.wraps) else text
            for column, text in zip(table.columns, texts, strict=True)
        ]


def _plain(block: Block) -> str:
    match block:
        case Table(columns, rows):
            lines = ["\t".join(column.name for column in columns)] if rows else []
            lines += ["\t".join(row) for row in cells(block, iso=True)]
            return "\n".join(lines)
        case Card(fields, body):
            lines = [f"{name}: {one_line(shown(value, iso=True))}" for name, value in fields]
            return "\n".join([*lines, *(["", visible(body)] if body else [])])
        case Sentence(text, _, lead):
            return visible(lead + text)
        case Verbatim(text):
            return text
        case Note():
            return ""
