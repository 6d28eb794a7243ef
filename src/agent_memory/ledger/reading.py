"""The access log as rows, the same in every engine. A row is a page: the lines of one tenant that were written
together, as JSON, because a row for each line costs more than a read may."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from agent_memory.models.errors import Corrupt
from agent_memory.ports.reading import MOST_IDS, ReadLine, ReadsWanted
from agent_memory.ports.shipping import Cells

COLUMNS = "first last tenant reasons lines"
SHIPPED = "at tenant user agent key door operation ids shown why micros tokens money receipt"
PAGE_LINES = 500
HOUR = 3_600_000_000
_spelled = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class ReadPage(NamedTuple):
    """`reasons`: how many lines have one."""

    first: int
    last: int
    tenant: str
    reasons: int
    lines: str


def by_tenant(lines: Iterable[ReadLine]) -> dict[str, list[ReadLine]]:
    found: defaultdict[str, list[ReadLine]] = defaultdict(list)
    for line in lines:
        found[line.tenant].append(line)
    return found


def pages(lines: Sequence[ReadLine]) -> Iterator[ReadPage]:
    """Of one tenant, in the order of the lines."""
    return map(_page, _parts(lines))


def _parts(lines: Sequence[ReadLine]) -> Iterator[Sequence[ReadLine]]:
    """A page expires as a whole: it is about one hour."""
    for _, several in groupby(lines, key=lambda line: line.at // HOUR):
        within = [*several]
        for begin in range(0, len(within), PAGE_LINES):
            yield within[begin : begin + PAGE_LINES]


def _page(lines: Sequence[ReadLine]) -> ReadPage:
    cut = [line if len(line.ids) <= MOST_IDS else line._replace(ids=line.ids[:MOST_IDS]) for line in lines]
    moments = [line.at for line in cut]
    return ReadPage(min(moments), max(moments), cut[0].tenant, _reasons(cut), _spelled(cut))


def _reasons(lines: Iterable[ReadLine]) -> int:
    return len([line for line in lines if line.why is not None])


def opened(text: str) -> list[ReadLine]:
    """The lines of a page."""
    try:
        return [ReadLine(*line)._replace(ids=tuple(line[7])) for line in json.loads(text)]
    except (ValueError, TypeError, IndexError):
        raise Corrupt("a page of the access log is damaged", hint="`agent-memory verify` names it") from None


def sought(wanted: ReadsWanted) -> dict[str, Any]:
    """What a page must hold to be opened at all: each value as it is spelled there."""
    said = {
        name: value and _spelled(value)
        for name, value in (("id", wanted.id), ("user", wanted.user), ("key", wanted.key))
    }
    return {**said, "since": wanted.since}


def found(texts: Iterable[str], wanted: ReadsWanted, limit: int) -> list[ReadLine]:
    """The newest first; of pages, the newest first."""
    lines: list[ReadLine] = []
    for text in texts:
        lines += [line for line in reversed(opened(text)) if _fits(line, wanted)]
        if len(lines) >= limit:
            break
    return lines[:limit]


def _fits(line: ReadLine, wanted: ReadsWanted) -> bool:
    return (
        line.at >= wanted.since
        and (wanted.id is None or wanted.id in line.ids)
        and wanted.user in (None, line.user)
        and wanted.key in (None, line.key)
    )


def spelled(ids: Iterable[str]) -> list[str]:
    return [_spelled(id) for id in ids]


def reasoned(lines: Iterable[ReadLine]) -> list[str]:
    """The records that lines with a reason name."""
    return sorted({id for line in lines if line.why is not None for id in line.ids})


def without_reasons(lines: Sequence[ReadLine], gone: Collection[str]) -> list[ReadLine]:
    """Of those that name one of these records."""
    if not gone:
        return [*lines]
    missing = frozenset(gone)
    return [line if line.why is None or missing.isdisjoint(line.ids) else line._replace(why=None) for line in lines]


def forgotten(text: str, gone: Collection[str]) -> tuple[int, str]:
    """What a page says when these records are gone, its reasons counted. One that is damaged says nothing any more."""
    try:
        left = without_reasons(opened(text), gone)
    except Corrupt:
        return 0, "[]"
    return _reasons(left), _spelled(left)


def shipped(texts: Iterable[str]) -> Iterator[Cells]:
    """Lines as `migrate` shows them: each has a number, and ids are one text, with blanks between."""
    lines = (line for text in texts for line in opened(text))
    return ((number, *line._replace(ids=" ".join(line.ids))) for number, line in enumerate(lines, 1))  # type: ignore[arg-type]


def received(rows: Iterable[Cells]) -> Iterator[tuple[int, ReadPage]]:
    """Pages made of such lines, each with the number of its first."""
    for _, several in groupby(rows, key=lambda row: row[2]):
        told = [(number, ReadLine(*line)) for number, *line in several]
        begin = 0
        for part in _parts([line._replace(ids=tuple(str(line.ids).split())) for _, line in told]):
            yield told[begin][0], _page(part)
            begin += len(part)
