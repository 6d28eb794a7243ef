"""What a command says, before it is known who reads it: a terminal, a pipe or a test."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


class Under(StrEnum):
    """Whether a column moves below the last one at a terminal: never, where it is narrow, or always."""

    NEVER = "never"
    NARROW = "narrow"
    ALWAYS = "always"


class Interval(NamedTuple):
    """Half open; an end of None is not reached yet."""

    start: datetime
    end: datetime | None


class Column(NamedTuple):
    """In a stack, the first line of a row is its columns by `order`; `label` says whether with their names. What is
    `whole` is never wrapped; what `wraps` may be, and is cut like the text. Ids that are `short` are abbreviated at a
    terminal."""

    name: str
    under: Under = Under.NEVER
    style: str = ""
    right: bool = False
    wraps: bool = False
    whole: bool = False
    label: bool = False
    order: int = 1
    short: bool = False


class Table(NamedTuple):
    """The last column is the text: it gets the room that is left, and is cut at `longest`, if that is said. Where a
    terminal is too narrow for columns, each row is a small stack of lines instead. Rows whose numbers are `faint` are
    there, but grey."""

    columns: tuple[Column, ...]
    rows: list[tuple[object, ...]]
    longest: int | None = None
    faint: frozenset[int] = frozenset()


class Card(NamedTuple):
    """Named values; `body` is text of its own."""

    fields: list[tuple[str, object]]
    body: str = ""


class Sentence(NamedTuple):
    """A sentence. `style`, as rich names it, is that of `lead` if there is one, else of all."""

    text: str
    style: str = ""
    lead: str = ""


class Note(NamedTuple):
    """A sentence for somebody at a terminal; a pipe does not get it."""

    text: str


class Verbatim(NamedTuple):
    """A text that is itself the result: a pipe gets it to the byte."""

    text: str


Block = Table | Card | Sentence | Note | Verbatim
