"""Rows of the access log, the same in every engine: ids stand in one text, with blanks between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agent_memory.ports.reading import MOST_IDS, ReadLine

COLUMNS = "at tenant user agent key door operation ids shown why micros tokens money receipt"


def cells(line: ReadLine) -> tuple[Any, ...]:
    return line._replace(ids=" ".join(line.ids[:MOST_IDS]))  # type: ignore[arg-type]


def restored(row: Sequence[Any]) -> ReadLine:
    line = ReadLine(*row)
    return line._replace(ids=tuple(str(line.ids).split()))


def naming(rows: Iterable[tuple[int, str]], ids: Iterable[str]) -> list[int]:
    """The numbers of those, of `(number, ids)`, that name one of these records."""
    gone = set(ids)
    return [number for number, named in rows if not gone.isdisjoint(named.split())]
