"""Maximal marginal relevance against its definition."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.recall.chosen import Chosen
from agent_memory.core.recall.diversity import diversified, likeness
from agent_memory.models.record import Record, Scope

DAY = datetime(2026, 3, 2, tzinfo=UTC)


def head(texts: list[str], scores: list[float]) -> list[Chosen]:
    return [
        Chosen(
            row,
            Record(id=str(row), kind="observation", scope=Scope(), text=text, valid_from=DAY, recorded_at=DAY, seq=row),
            score,
            0.5,
        )
        for row, (text, score) in enumerate(zip(texts, sorted(scores, reverse=True), strict=True))
    ]


def test_likeness_is_the_share_of_content_words() -> None:
    alike = likeness(["deploy failed on web-01", "deploy failed on web-02", "deploy: lunch is at one", "?!", ""])
    assert np.allclose(alike, alike.T) and np.allclose(np.diag(alike)[:3], 1.0)
    assert alike[0, 1] > alike[0, 2] > 0 and not alike[3:].any()


WORDS = st.sampled_from("deploy failed lunch port host queue".split())
ITEMS = st.lists(st.tuples(st.lists(WORDS, max_size=4).map(" ".join), st.floats(-3, 3)), max_size=12)


@given(items=ITEMS, diversity=st.floats(0.01, 0.9))
def test_each_next_is_the_best_by_the_definition(items: list[tuple[str, float]], diversity: float) -> None:
    given_head = head([text for text, _ in items], [score for _, score in items])
    found = list(diversified(given_head, diversity, lambda row: True))
    assert sorted(one.row for one in found) == list(range(len(items)))
    scores = np.array([one.score for one in given_head])
    relevance = (scores - scores.min(initial=0)) / (np.ptp(scores) if items and np.ptp(scores) else 1.0)
    alike = likeness([text for text, _ in items])
    taken: list[int] = []
    for one in found:
        value = {
            row: (1 - diversity) * relevance[row]
            - diversity * max(alike[row, taken], default=0.0) * bool(np.ptp(scores))
            for row in range(len(items))
            if row not in taken
        }
        assert value[one.row] >= max(value.values()) - 1e-9
        taken.append(one.row)
    assert all(first.score >= second.score - 1e-9 for first, second in pairwise(found))
