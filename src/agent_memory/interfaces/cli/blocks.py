"""What a command says, before it is known who reads it: a terminal, a pipe or a test."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Under(StrEnum):
    """Whether a column moves below the last one at a terminal: never, where it is narrow, or always."""

    NEVER = "never"
    NARROW = "narrow"
    ALWAYS = "always"


@dataclass(frozen=True)
class Interval:
    """Half open; an end of None is not reached yet."""

    start: datetime
    end: datetime | None


@dataclass(frozen=True)
class Column:
    name: str
    under: Under = Under.NEVER
    style: str = ""
    right: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class Table:
    """The last column is the text: it gets the room that is left, and is cut at `longest` at a terminal."""

    columns: tuple[Column, ...]
    rows: list[tuple[object, ...]]
    longest: int = 240


@dataclass(frozen=True)
class Card:
    """Named values; `body` is text of its own."""

    fields: list[tuple[str, object]]
    body: str = ""


@dataclass(frozen=True)
class Line:
    """A sentence. `style`, as rich names it, is that of `lead` if there is one, else of all."""

    text: str
    style: str = ""
    lead: str = ""


@dataclass(frozen=True)
class Note:
    """A sentence for somebody at a terminal; a pipe does not get it."""

    text: str


@dataclass(frozen=True)
class Verbatim:
    """A text that is itself the result: a pipe gets it to the byte."""

    text: str


Block = Table | Card | Line | Note | Verbatim
