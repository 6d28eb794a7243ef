"""Scoring is arithmetic: checked against the formulas written out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.recall.score import K1, B, bm25, inverse_frequencies, rank, stretched
from agent_memory.models.recipe import DEFAULT, Recipe
from agent_memory.ports.index import Pool

DAY = 86_400_000_000


def pool(**changes: object) -> Pool:
    values: dict[str, object] = {
        "seq": 9,
        "handles": np.array([1, 2, 3], np.int64),
        "valid_from": np.array([0, 5 * DAY, 10 * DAY], np.int64),
        "importance": np.full(3, 0.5, np.float32),
        "similarity": np.array([0.9, np.nan, 0.1], np.float32),
        "counts": np.array([[1, 0], [2, 1], [0, 0]], np.uint8),
        "lengths": np.array([4, 8, 2], np.int32),
        "exact": np.array([False, False, False]),
        "documents": 10,
        "pending": 0,
        "mean_length": 5.0,
        "frequencies": np.array([3, 1], np.int64),
        **changes,
    }
    return Pool(**values)  # type: ignore[arg-type]


def test_bm25_is_the_formula() -> None:
    asked = pool()
    found = bm25(asked, inverse_frequencies(asked))
    for row, (counts, length) in enumerate(zip(asked.counts.tolist(), asked.lengths.tolist(), strict=True)):
        expected = 0.0
        for times, frequency in zip(counts, asked.frequencies.tolist(), strict=True):
            idf = math.log(1 + (10 - frequency + 0.5) / (frequency + 0.5))
            expected += idf * times * (K1 + 1) / (times + K1 * (1 - B + B * length / 5))
        assert found[row] == pytest.approx(expected)


def test_a_channel_without_evidence_gives_nothing() -> None:
    ranking = rank(pool(), DEFAULT, 10 * DAY)
    assert ranking.channels["vectors"].tolist() == [0.5, 0.0, 0.0]  # the second has no vector, the third is the worst
    assert ranking.channels["words"][2] == 0 and ranking.channels["words"].max() == 0.5
    assert ranking.channels["key"].tolist() == [0, 0, 0]


def test_recency_halves_with_the_half_life() -> None:
    recipe = Recipe(name="new", vectors=0, words=0, recency=1, key=0, half_life_days=5)
    ranking = rank(pool(), recipe, 10 * DAY)
    assert ranking.channels["recency"].tolist() == [0.25, 0.5, 1.0]
    assert ranking.rows.tolist() == [2, 1, 0]


def test_an_exact_key_wins_and_is_fully_relevant() -> None:
    ranking = rank(pool(exact=np.array([False, False, True])), DEFAULT, 10 * DAY)
    assert ranking.rows[0] == 2 and ranking.relevance[2] == 1.0


def test_ties_go_to_the_newer_record() -> None:
    same = pool(
        similarity=np.full(3, np.nan, np.float32),
        counts=np.zeros((3, 0), np.uint8),
        frequencies=np.zeros(0, np.int64),
        valid_from=np.zeros(3, np.int64),
    )
    assert rank(same, DEFAULT, 0).rows.tolist() == [2, 1, 0]


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=30))
def test_stretching_keeps_the_order_and_the_bounds(values: list[float]) -> None:
    array = np.array(values)
    result = stretched(array, np.ones(len(array), bool))
    assert result.min() >= 0 and result.max() == 1
    assert all((result[a] <= result[b]) for a in range(len(array)) for b in range(len(array)) if array[a] <= array[b])


def test_an_empty_pool_is_an_empty_ranking() -> None:
    empty = pool(
        handles=np.empty(0, np.int64),
        valid_from=np.empty(0, np.int64),
        importance=np.empty(0, np.float32),
        similarity=np.empty(0, np.float32),
        counts=np.empty((0, 2), np.uint8),
        lengths=np.empty(0, np.int32),
        exact=np.empty(0, bool),
        documents=0,
        mean_length=0.0,
        frequencies=np.zeros(2, np.int64),
    )
    assert rank(empty, DEFAULT, 0).rows.tolist() == []


def test_a_recipe_has_a_hash_of_what_it_says() -> None:
    assert DEFAULT.hash == Recipe().hash != Recipe(words=0.4).hash
