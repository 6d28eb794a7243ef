"""Relevance is evidence added up: each piece alone moves it the right way, whatever the pool."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.recall.question import AskedQuestion, read
from agent_memory.core.recall.score import rank
from agent_memory.models.moment import to_micros
from agent_memory.models.recipe import DECAY, DEFAULT, MEANING, Recipe
from agent_memory.ports.index import Pool

NOW = datetime(2026, 3, 12, 12, tzinfo=UTC)
DAY = 86_400_000_000


def pool(question: AskedQuestion, rows: int, **changes: object) -> Pool:
    """Texts of ten words that nothing is known of."""
    counts = np.asarray(changes.get("counts", np.zeros((rows, len(question.columns)), np.uint8)))
    values: dict[str, object] = {
        "seq": 9,
        "handles": np.arange(1, rows + 1),
        "valid_from": np.full(rows, to_micros(NOW) - 100 * DAY),
        "importance": np.full(rows, 0.5, np.float32),
        "conversations": np.zeros(rows, np.int32),
        "similarity": np.full(rows, np.nan, np.float32),
        "counts": counts,
        "lengths": np.full(rows, 10, np.int32),
        "exact": np.zeros(rows, bool),
        "documents": rows,
        "pending": 0,
        "frequencies": (counts > 0).sum(axis=0),
        **changes,
    }
    return Pool(**values)  # type: ignore[arg-type]


def relevance(question: AskedQuestion, gathered: Pool, recipe: Recipe = DEFAULT) -> list[float]:
    found = rank(gathered, question, recipe, to_micros(NOW)).relevance
    assert ((found >= 0) & (found <= 1)).all()
    return found.tolist()


def having(question: AskedQuestion, rows: int, *places: tuple[int, str]) -> np.ndarray:
    """Counts in which these rows have these words, or marks."""
    columns = list(question.columns)
    hashes = {word: hash for hash, word in question.terms.items()}
    hashes |= {f"by {word}": mark for mark, word in question.named.items()} | {"?": question.asking[0]}
    counts = np.zeros((rows, len(columns)), np.uint8)
    for row, name in places:
        counts[row, columns.index(hashes[name])] = 1
    return counts


def test_nearer_is_more_relevant_and_the_usual_is_not() -> None:
    question = read("lamp", NOW)
    near, usual, far, unknown = relevance(question, pool(question, 4, similarity=np.array([0.8, 0.12, -0.2, np.nan])))
    assert near > 0.7 > 0.4 > unknown >= usual > far


def test_a_store_in_which_everything_is_near_says_less() -> None:
    """Cosines of one question are all high: what counts is what stands out."""
    question = read("lamp", NOW)
    similarity = np.full(300, 0.5, np.float32)
    similarity[0] = 0.6
    found = relevance(question, pool(question, 300, similarity=similarity))
    alone = relevance(question, pool(question, 1, similarity=similarity[1:2]))
    assert found[0] > found[1] and found[1] < alone[0]


def test_words_count_by_how_telling_they_are_and_less_beside_the_text() -> None:
    question = read("lamp kettle", NOW)
    counts = having(question, 5, (0, "lamp"), (0, "kettle"), (1, "kettle"), (2, "lamp"))
    frequencies = np.array([1, 4] + [0] * (len(question.columns) - 2))
    talk = np.array([0, 0, 7, 7, 7], np.int32)
    gathered = pool(question, 5, counts=counts, frequencies=frequencies, conversations=talk)
    both, common, rare, beside, farther = relevance(question, gathered)
    assert both > 0.8 and both > rare > common
    assert rare > beside > farther > 0.2
    assert relevance(question, gathered, MEANING)[3] < beside, "a recipe without a window has none here either"


def test_a_name_or_code_that_is_missing() -> None:
    """Where another text has it, this one is about something else; where none has, all of them are."""
    question = read("what does E-4490 mean on the scanners?", NOW)
    code = [word for word in question.terms.values() if word not in ("scanners", "mean")]
    said = [(row, word) for row in (0, 1) for word in ("scanners", "mean")]
    same, other = relevance(question, pool(question, 2, counts=having(question, 2, *said, *((0, w) for w in code))))
    unseen, _ = relevance(question, pool(question, 2, counts=having(question, 2, *said)))
    assert same > 0.8 > other > unseen and unseen < 0.2
    plain = read("what does this mean on the scanners?", NOW)
    assert relevance(plain, pool(plain, 2, counts=having(plain, 2, *said)))[0] > 0.8, "nothing is missing"


def test_a_capital_makes_a_name_in_english_only() -> None:
    for text, names in (("what broke in Bremen today", True), ("warum ist die Platte in Bremen defekt", False)):
        written, folded = read(text, NOW), read(text.lower(), NOW)
        found = relevance(written, pool(written, 1)), relevance(folded, pool(folded, 1))
        assert (found[0] < found[1]) == names, text


def test_who_spoke_stands_for_the_name() -> None:
    question = read("What did Ann buy?", NOW)
    counts = having(question, 4, (0, "by ann"), (2, "ann"), *((row, "buy") for row in range(4)))
    gathered = pool(question, 4, counts=counts, conversations=np.array([1, 2, 0, 0], np.int32))
    by_ann, by_another, about_ann, note = relevance(question, gathered)
    assert by_ann == about_ann > note > by_another
    nobody = having(question, 2, (0, "buy"), (1, "buy"))
    gathered = pool(question, 2, counts=nobody, conversations=np.array([1, 0], np.int32))
    turn, note = relevance(question, gathered)
    assert turn == note, "a name of somebody who does not speak here says nothing about who spoke"


def test_a_date_holds_without_being_written() -> None:
    question = read("what broke on 7 March 2026?", NOW)
    counts = having(question, 3, (0, "broke"), (1, "broke"), (2, "broke"), (2, "march"), (2, "2026"), (2, "7"))
    days = np.array([5, 90, 90])
    gathered = pool(question, 3, counts=counts, valid_from=to_micros(NOW) - days * DAY)
    then, another_day, written = relevance(question, gathered)
    assert then > written > another_day


def test_a_question_is_seldom_an_answer() -> None:
    question = read("lamp", NOW)
    tells, asks = relevance(question, pool(question, 2, counts=having(question, 2, (0, "lamp"), (1, "lamp"), (1, "?"))))
    assert tells > asks


def test_an_exact_key_is_fully_relevant() -> None:
    question = read("lamp", NOW)
    assert relevance(question, pool(question, 2, exact=np.array([True, False])))[0] == 1.0


@pytest.mark.parametrize("recipe", [DEFAULT, DECAY, MEANING, Recipe(vectors=0), Recipe(near_words=(0.5,) * 9)])
@pytest.mark.parametrize("text", ["lamp", "what is it?", "停電のとき", " ".join(f"word{n}" for n in range(90))])
def test_every_question_on_every_size_of_store(text: str, recipe: Recipe) -> None:
    question = read(text, NOW)
    for rows in (0, 1, 5):
        assert len(relevance(question, pool(question, rows), recipe)) == rows


@given(st.data())
def test_always_between_0_and_1(data: st.DataObject) -> None:
    question = read("what did Ann say about E-4410 and the lamp on 7 March 2026?", NOW)
    rows, columns = data.draw(st.integers(1, 8)), len(question.columns)
    numbers = st.lists(st.floats(-1, 1, width=32), min_size=rows, max_size=rows)
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=rows * columns, max_size=rows * columns)))
    counts = counts.reshape(rows, columns).astype(np.uint8)
    talk = sorted(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    gathered = pool(
        question,
        rows,
        counts=counts,
        similarity=np.array(data.draw(numbers), np.float32),
        conversations=np.array(talk, np.int32),
    )
    everywhere = relevance(question, gathered)
    some = data.draw(st.lists(st.integers(0, rows - 1), unique=True))
    found = rank(gathered, question, DEFAULT, to_micros(NOW)).relevance_of(some)
    assert found == [everywhere[row] for row in some], "a few are told as they are among all"
