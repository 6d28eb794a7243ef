"""Tracing a recall: what each channel put first, and what was left out and why. Only for who asks for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent_memory.core.recall.chosen import Chosen
from agent_memory.core.recall.reading import Reading
from agent_memory.core.recall.receipt import RELEVANCE_DIGITS, SCORE_DIGITS, Question
from agent_memory.core.recall.score import Ranking
from agent_memory.models.trace import Candidate, Trace, TraceLeftOut
from agent_memory.ports.index import Pool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST = 50  # candidates of each channel, and of those that were left out


class NamedTrace(NamedTuple):
    """A trace, and the handles of all versions that it names."""

    trace: Trace
    named: tuple[int, ...]


def traced(reading: Reading, pool: Pool, ranking: Ranking, question: Question, chosen: Sequence[Chosen]) -> NamedTrace:
    """`chosen` is what is shown. What was forgotten meanwhile is not named."""
    reasons = _reasons(pool, ranking, question, chosen)
    first = {name: _first(added, ranking.rows) for name, added in ranking.channels.items()}
    rows = list(dict.fromkeys([*(row for found in first.values() for row in found), *list(reasons)[:MOST]]))
    handles = [int(pool.handles[row]) for row in rows]
    records = {record.seq: record for record in reading.hydrate(handles)}
    known = {row: records[handle] for row, handle in zip(rows, handles, strict=True) if handle in records}
    places = {row: place for place, row in enumerate(ranking.rows.tolist(), 1) if row in known}
    channels = {
        name: [
            Candidate(
                id=known[row].id,
                version=known[row].version,
                value=round(float(ranking.channels[name][row]), 4),
                place=places[row],
            )
            for row in found
            if row in known
        ]
        for name, found in first.items()
        if found
    }
    left_out = [
        TraceLeftOut(
            id=known[row].id,
            version=known[row].version,
            place=places[row],
            score=round(float(ranking.scores[row]), SCORE_DIGITS),
            relevance=round(float(ranking.relevance[row]), RELEVANCE_DIGITS),
            reason=reason,
        )
        for row, reason in list(reasons.items())[:MOST]
        if row in known
    ]
    hidden = {name: count for name, count in (pool.hidden or {}).items() if count}
    trace = Trace(channels=channels, left_out=left_out, reasons=dict(Counter(reasons.values())), hidden=hidden)
    return NamedTrace(trace, tuple(records))


def _first(added: NDArray[np.float64], rows: NDArray[np.int64]) -> list[int]:
    """The rows to which a channel added most, and something; of equals, those that came first in the end."""
    import numpy as np

    told = rows[added[rows] != 0]
    best: list[int] = told[np.argsort(-added[told], kind="stable")][:MOST].tolist()
    return best


def _reasons(pool: Pool, ranking: Ranking, question: Question, chosen: Sequence[Chosen]) -> dict[int, str]:
    """Row -> the limit that kept it out, best first. `k` is what stood in the way once there were so many."""
    recipe, left = question.recipe, question.k
    shown = {one.row for one in chosen}
    repeats = {other.row for one in chosen for other in one.repeats}
    talks = Counter(int(pool.conversations[row]) for row in shown)
    found: dict[int, str] = {}
    for row in ranking.rows.tolist():
        talk = int(pool.conversations[row])
        if row in shown:
            left -= 1
        elif row in repeats:
            found[row] = "repeat"
        elif left == 0:
            found[row] = "k"
        elif ranking.relevance[row] < recipe.min_relevance:
            found[row] = "min_relevance"
        elif talk and recipe.per_conversation and talks[talk] >= recipe.per_conversation:
            found[row] = "per_conversation"
        else:  # others were put before it, or it repeats what stands far above
            found[row] = "k" if len(shown) == question.k else "repeat"
    return found
