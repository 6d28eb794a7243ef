"""Scoring is arithmetic: checked against the formulas written out."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.recall.question import AskedQuestion, read, spoken
from agent_memory.core.recall.score import (
    HEAD,
    K1,
    B,
    PoolEvidence,
    best_of_conversation,
    inverse_frequencies,
    length_norm,
    rank,
    saturated,
    shared,
    stretched,
)
from agent_memory.models.moment import to_micros
from agent_memory.models.recipe import DECAY, DEFAULT, MEANING, Recipe
from agent_memory.ports.index import Pool

NOW = datetime(2026, 3, 12, 12, tzinfo=UTC)
DAY = 86_400_000_000
QUESTION = "lamp kettle"


def asked(text: str = QUESTION) -> AskedQuestion:
    return read(text, NOW)


def pool(question: AskedQuestion, **changes: object) -> Pool:
    """Three candidates: the first two words of the question are in the first two of them, and no marks."""
    marks = len(question.columns) - len(question.terms)
    counts = np.array([[1, 0], [2, 1], [0, 0]], np.uint8)
    values: dict[str, object] = {
        "seq": 9,
        "handles": np.array([1, 2, 3], np.int64),
        "valid_from": np.array([to_micros(NOW) - days * DAY for days in (10, 5, 0)], np.int64),
        "importance": np.full(3, 0.5, np.float32),
        "conversations": np.zeros(3, np.int32),
        "similarity": np.array([0.9, np.nan, 0.1], np.float32),
        "counts": np.hstack([counts[:, : len(question.terms)], np.zeros((3, marks), np.uint8)]),
        "lengths": np.array([4, 8, 2], np.int32),
        "exact": np.array([False, False, False]),
        "documents": 3,
        "pending": 0,
        "frequencies": np.concatenate([(counts > 0).sum(axis=0)[: len(question.terms)], np.zeros(marks, np.int64)]),
        **changes,
    }
    return Pool(**values)  # type: ignore[arg-type]


def marked(question: AskedQuestion, mark: int, *rows: int) -> np.ndarray:
    """Counts in which these rows carry a mark."""
    counts = pool(question).counts.copy()
    counts[list(rows), question.columns.index(mark)] = 1
    return counts


def test_what_has_no_vector_yet_is_judged_by_its_words_alone() -> None:
    question = asked()
    found = rank(pool(question), question, Recipe(recency=0, importance=0), to_micros(NOW))
    assert next(found.best()) == 1, "both words, and no vector, beside one word and the nearest vector"
    weight, words = DEFAULT.words + DEFAULT.vectors, found.evidence.wording()
    assert found.channels["words"].tolist() == pytest.approx([DEFAULT.words * words[0], weight * words[1], 0])
    assert found.channels["vectors"][1] == 0
    without = pool(question, similarity=np.full(3, np.nan, np.float32))
    alone = rank(without, question, DEFAULT, to_micros(NOW)).channels["words"]
    assert alone.tolist() == pytest.approx((DEFAULT.words * words).tolist()), "where nothing has one, nothing changes"


def test_bm25_is_the_formula() -> None:
    counts, lengths = np.array([[1, 0], [2, 1]], np.float32), np.array([4, 8], np.float32)
    frequencies = np.array([2, 1])
    found = saturated(counts, length_norm(lengths)[:, None]) @ inverse_frequencies(10, frequencies)
    for row in range(2):
        expected = 0.0
        for times, frequency in zip(counts[row].tolist(), frequencies.tolist(), strict=True):
            idf = math.log(1 + (10 - frequency + 0.5) / (frequency + 0.5))
            expected += idf * times * (K1 + 1) / (times + K1 * (1 - B + B * lengths[row] / 6))
        assert found[row] == pytest.approx(expected, rel=1e-5)


def test_a_channel_without_evidence_gives_nothing() -> None:
    question = asked()
    ranking = rank(pool(question), question, DEFAULT, to_micros(NOW))
    assert ranking.channels["vectors"].tolist() == [0.6, 0.0, 0.0]  # the second has no vector, the third is the worst
    assert ranking.channels["words"][2] == 0 and ranking.channels["words"][0] < 0.4
    assert ranking.channels["words"][0] > 0, "a match is a match, also the weakest"
    for silent in ("speaker", "date", "answer", "question", "key"):
        assert not ranking.channels[silent].any()


def test_recency_halves_with_the_half_life() -> None:
    question = asked()
    recipe = MEANING.model_copy(update={"vectors": 0.0, "recency": 1.0, "half_life_days": 5.0})
    ranking = rank(pool(question), question, recipe, to_micros(NOW))
    assert ranking.channels["recency"].tolist() == [0.25, 0.5, 1.0]
    assert ranking.rows.tolist() == [2, 1, 0]


@pytest.mark.requirement("E4")
def test_the_decay_recipe_is_the_formula() -> None:
    question = asked()
    ranking = rank(pool(question), question, DECAY, to_micros(NOW))
    for row, (similarity, days) in enumerate(((0.9, 10), (0.0, 5), (0.1, 0))):
        expected = 0.5 * similarity + 0.3 * math.exp(-0.1 * days) + 0.2 * 0.5 * 0.95**days
        assert ranking.scores[row] == pytest.approx(expected, abs=1e-6)


def test_an_exact_key_wins_and_is_fully_relevant() -> None:
    question = asked()
    ranking = rank(pool(question, exact=np.array([False, False, True])), question, DEFAULT, to_micros(NOW))
    assert ranking.rows[0] == 2 and ranking.relevance[2] == 1.0


def test_prose_is_the_plain_sum_of_words_and_vectors() -> None:
    """BM25 as it is written down, a share of its best; vectors from worst to best; both at the same weight."""
    prose = asked().as_prose()
    gathered = pool(prose, similarity=np.array([0.9, 0.4, 0.1], np.float32))
    counts = gathered.counts.astype(np.float64)
    norm = K1 * (1 - B + B * gathered.lengths / gathered.lengths.mean())[:, None]
    bm25 = (counts * (K1 + 1) / (counts + norm)) @ inverse_frequencies(3, gathered.frequencies)
    ranking = rank(gathered, prose, DEFAULT.model_copy(update={"conversation": 0.0}), to_micros(NOW))
    assert ranking.scores == pytest.approx(0.6 * bm25 / bm25.max() + 0.6 * np.array([1.0, 0.375, 0.0]), abs=1e-6)


def test_words_of_neighbours_count_by_their_distance() -> None:
    question = asked("lamp")
    column = np.zeros((6, len(question.columns)), np.uint8)
    column[2, 0] = 1
    five = {
        "handles": np.arange(6),
        "valid_from": np.zeros(6, np.int64),
        "importance": np.full(6, 0.5, np.float32),
        "conversations": np.array([1, 1, 1, 1, 2, 0], np.int32),
        "similarity": np.full(6, np.nan, np.float32),
        "counts": column,
        "lengths": np.full(6, 10, np.int32),
        "exact": np.zeros(6, bool),
        "documents": 6,
    }
    found = PoolEvidence(pool(question, **five), question, DEFAULT).wording()
    assert found[2] == 1.0 and found[1] > found[0] > 0 and found[3] > 0
    assert found[4] == found[5] == 0, "another conversation, or none, is no neighbour"
    long = {**five, "lengths": np.array([10, 10, 300, 10, 10, 10], np.int32)}
    assert PoolEvidence(pool(question, **long), question, DEFAULT).wording()[1] < found[1], (
        "a long turn speaks for itself"
    )


def test_a_speaker_whom_the_question_names() -> None:
    question = asked("What did Ann buy?")
    (ann,) = (mark for mark, word in question.named.items() if word == "ann")
    counts = marked(question, ann, 1)
    assert PoolEvidence(pool(question, counts=counts), question, DEFAULT).speaker().tolist() == [0, 1, 0]
    mine = asked("what did I say about the lamp?")
    (user,) = mine.sides
    counts = marked(mine, user, 0, 2)
    assert PoolEvidence(pool(mine, counts=counts), mine, DEFAULT).speaker().tolist() == [1, 0, 1]


def test_a_date_that_the_question_names() -> None:
    question = asked("what happened on 7 March 2026?")
    before, inside, after = PoolEvidence(pool(question), question, DEFAULT).dates.tolist()
    assert inside == 1
    assert (before, after) == pytest.approx((2**-2.25, 2**-2.25)), "four and a half days off; half every two days"
    exact = DEFAULT.model_copy(update={"slack_days": 0.0})
    assert PoolEvidence(pool(question), question, exact).dates.tolist() == [0, 1, 0]


def test_the_answer_wanted_and_questions_themselves() -> None:
    question = asked("when was the lamp bought?")
    (wanted,) = question.wanted
    ranking = rank(pool(question, counts=marked(question, wanted, 2)), question, DEFAULT, to_micros(NOW))
    assert ranking.channels["answer"].tolist() == [0, 0, 0.1]
    ranking = rank(pool(question, counts=marked(question, *question.asking, 0)), question, DEFAULT, to_micros(NOW))
    assert ranking.channels["question"].tolist() == [-0.1, 0, 0]


def test_the_best_of_a_conversation_lifts_the_others() -> None:
    scores = np.array([0.1, 0.9, 0.3, 0.2])
    assert best_of_conversation(np.array([1, 1, 2, 0], np.int32), scores).tolist() == [0.9, 0.9, 0.3, 0.2]
    assert best_of_conversation(np.array([0, 0, 3, 3], np.int32), scores).tolist() == [0.1, 0.9, 0.3, 0.3]


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=30))
def test_stretching_keeps_the_order_and_the_bounds(values: list[float]) -> None:
    array = np.array(values)
    result = stretched(array, np.ones(len(array), bool))
    assert result.min() >= 0 and result.max() == 1
    assert all((result[a] <= result[b]) for a in range(len(array)) for b in range(len(array)) if array[a] <= array[b])
    assert shared(np.abs(array)).max(initial=0) <= 1


def test_the_head_is_the_head_of_the_whole_order() -> None:
    question, rows = asked(), 3 * HEAD
    chance = np.random.default_rng(7)
    gathered = pool(
        question,
        handles=chance.permutation(rows),
        valid_from=np.zeros(rows, np.int64),
        importance=np.full(rows, 0.5, np.float32),
        conversations=np.zeros(rows, np.int32),
        similarity=chance.integers(0, 5, rows).astype(np.float32) / 5,  # many ties, also at the end of the head
        counts=chance.integers(0, 2, (rows, len(question.columns))).astype(np.uint8),
        lengths=np.full(rows, 10, np.int32),
        exact=np.zeros(rows, bool),
        documents=rows,
    )
    ranking = rank(gathered, question, DEFAULT, to_micros(NOW))
    expected = sorted(range(rows), key=lambda row: (-ranking.scores[row], -gathered.handles[row]))
    assert list(ranking.best()) == ranking.rows.tolist() == expected
    floor = float(np.median(ranking.relevance))
    assert list(ranking.best(floor)) == [row for row in expected if ranking.relevance[row] >= floor]


def test_an_empty_pool_is_an_empty_ranking() -> None:
    question = asked()
    empty = pool(
        question,
        handles=np.empty(0, np.int64),
        valid_from=np.empty(0, np.int64),
        importance=np.empty(0, np.float32),
        conversations=np.empty(0, np.int32),
        similarity=np.empty(0, np.float32),
        counts=np.empty((0, len(question.columns)), np.uint8),
        lengths=np.empty(0, np.int32),
        exact=np.empty(0, bool),
        documents=0,
        frequencies=np.zeros(len(question.columns), np.int64),
    )
    for recipe in (DEFAULT, DECAY, MEANING):
        assert rank(empty, question, recipe, to_micros(NOW)).rows.tolist() == []


def test_how_a_speaker_would_say_it() -> None:
    assert spoken("What did Ann buy for her sister?", frozenset({"ann"})) == [
        "What did Ann buy for her sister?",
        "What did buy for her sister?",
        "I buy for my sister",
    ]
    assert spoken("Where is Ann's bike?", frozenset({"ann"}))[-1] == "my bike"
    assert spoken("What did Ann buy?", frozenset()) == ["What did Ann buy?"]
    assert spoken("how do I restart Postgres?", frozenset({"ann"})) == ["how do I restart Postgres?"]


def test_a_recipe_has_a_hash_of_what_it_says() -> None:
    assert DEFAULT.hash == Recipe().hash != Recipe(words=0.5).hash


def test_moments_of_other_zones_are_the_same_moments() -> None:
    question = read("on 7 March 2026", NOW.astimezone(tz=None))
    assert question.periods[0].end - question.periods[0].start == timedelta(days=1)


def test_questions_without_a_name_of_time_are_not_searched_for_one() -> None:
    """The short cut skips no question in which the rules would find a period."""
    from agent_memory.core.recall.dates import periods

    said = ["in May", "last Tuesday", "two weeks ago", "recently", "on 3 March", "since spring", "Q3 2023"]
    said += [
        "this weekend",
        "the day before yesterday",
        "an hour ago",
        "in 2022",
        "tonight",
        "first week of August",
        "lately",
    ]
    for phrase in said:
        assert bool(read(f"what broke {phrase}?", NOW).periods) == bool(periods(f"what broke {phrase}?", NOW)), phrase
