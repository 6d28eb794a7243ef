"""Times that are named by a value: "who was on call before Bo?", where Bo is what a version says, and no event.

A value begins and ends with its versions, to the microsecond, though three of them may have held on one day. Words are
a value where some versions of a record have them and others do not. Which record is meant, the question decides: what
is left of it without these words ("who was on call"), or, where that says next to nothing ("what did we use"), the
words themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from agent_memory.core.recall.past import BEGINNING, Clause, Window
from agent_memory.core.recall.score import Ranking
from agent_memory.core.write.words import query_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from agent_memory.ports.index import Pool

_CHANGE = re.compile(
    r"^(?:(?:I|we|you|he|she|it|they)\s+)?"
    r"(?:switch(?:ed|ing)|mov(?:ed|ing)|chang(?:ed|ing)|migrat(?:ed|ing)|upgrad(?:ed|ing)|went|going)\s+(?:over\s+)?to\s+"
    r"|\s+(?:took over|came(?: along)?|started|began|joined)$",
    re.IGNORECASE,
)
_EMPTY = "use have own run do go get work happen come"


class Value(NamedTuple):
    """What a record said from `start` to `end`, and the version that says so."""

    record: int
    handle: int
    start: int
    end: int


def value(ranking: Ranking, when: Clause, now: int) -> Value | None:
    """The value that the words name, of the record that has it and fits the whole question best; its last time, if it
    held more than once."""
    import numpy as np

    pool, column = ranking.evidence.pool, ranking.evidence.column
    terms = query_terms(_CHANGE.sub("", when.said))
    if when.side not in ("before", "after") or not terms or not column.keys() >= terms.keys():
        return None
    assert pool.records is not None and pool.valid_to is not None
    says: NDArray[np.bool_] = pool.counts[:, [column[term] for term in terms]].min(axis=1) > 0
    held = pool.valid_from < np.minimum(pool.valid_to, now)
    known = np.flatnonzero(says & held & np.isin(pool.records, pool.records[~says]))
    if not len(known):
        return None
    best = known[np.argmax(ranking.scores[known])]
    rows = np.flatnonzero(held & (pool.records == pool.records[best]))
    rows = rows[np.argsort(pool.valid_from[rows], kind="stable")]
    return _last(says, rows, pool, now if when.side == "after" else None)


def first_of_all(found: Value, ranking: Ranking) -> bool:
    """Whether nothing fits better than the record that has this value."""
    records, best = ranking.evidence.pool.records, next(ranking.best(), None)
    return records is not None and best is not None and int(records[best]) == found.record


def first_that_changed(found: Value, ranking: Ranking, now: int) -> bool:
    """Whether, of what has a past, nothing fits better."""
    pool = ranking.evidence.pool
    assert pool.records is not None and pool.valid_to is not None
    changed = set(pool.records[pool.valid_to <= now].tolist())
    best = next((row for row in ranking.best() if int(pool.records[row]) in changed), None)
    return best is not None and int(pool.records[best]) == found.record


def says_little(left: Iterable[int]) -> bool:
    """Whether these words of a question do not tell what it is about: "what did we use"."""
    return set(left) <= query_terms(_EMPTY).keys()


def window(found: Value, when: Clause, now: int, *, named: bool = False) -> Window:
    """`named`: nothing but the value tells what is asked for."""
    start, end = (BEGINNING, found.start) if when.side == "before" else (found.end, now)
    return Window(start, end, when.side, when.words, apart=not named, named=named)


def _last(says: NDArray[np.bool_], rows: NDArray[np.int64], pool: Pool, until: int | None) -> Value | None:
    """The last run of versions that say so one after the other, and have ended by then. Rows are in order of time."""
    assert pool.records is not None and pool.valid_to is not None
    found = None
    for saying, together in groupby(rows.tolist(), key=lambda row: bool(says[row])):
        run = list(together)
        first, end = run[0], int(pool.valid_to[run[-1]])
        if saying and (until is None or end < until):
            found = Value(int(pool.records[first]), int(pool.handles[first]), int(pool.valid_from[first]), end)
    return found
