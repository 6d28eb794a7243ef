"""Training an adapter: it finds what was planted, always the same, and nothing where there is nothing to find. E6."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory.core.recall.adapter import Adapter, decoded, encoded, stored
from agent_memory.core.upkeep.fit import Example, better, fit, gain, remembered
from agent_memory.core.upkeep.learn import IMPLIED, judged
from agent_memory.models.kinds.experience import FeedbackPayload
from agent_memory.models.record import Record, Scope
from agent_memory.ports.embedder import Space

pytestmark = pytest.mark.requirement("E6")
DIMENSION, SHOWN = 32, 8
SPACE = Space("planted", "1", DIMENSION)


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    made: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=-1, keepdims=True)
    return made


def planted(count: int, shift: float, seed: int) -> list[Example]:
    """Each question is its answer, and as much of one direction that has nothing to do with it; so are the others."""
    rng = np.random.default_rng(seed)
    aside = np.eye(DIMENSION)[0]
    made = []
    for _ in range(count):
        answer = unit(rng.normal(size=DIMENSION) * (np.arange(DIMENSION) > 0))
        others = unit(unit(rng.normal(size=(SHOWN - 1, DIMENSION))) + shift * aside)
        query = unit(answer + shift * aside + 0.3 * unit(rng.normal(size=DIMENSION)))
        texts = np.concatenate([others, answer[None]])
        made.append(Example(query, texts, texts @ query, np.array([0.0] * (SHOWN - 1) + [1.0])))
    return made


def served(examples: list[Example], adapter: Adapter) -> list[float]:
    gains = []
    for one in examples:
        order = np.argsort(-(one.texts @ adapter.through(one.query)))
        gains.append(gain(one.wanted[order].tolist()))
    return gains


def sample(seed: int = 9) -> NDArray[np.float64]:
    return unit(np.random.default_rng(seed).normal(size=(50, DIMENSION)))


def test_a_planted_shift_is_found_and_holds_for_questions_that_were_not_trained_on() -> None:
    adapter = stored(fit(planted(60, 1.5, 1), sample()))
    unseen = planted(60, 1.5, 2)
    before, after = served(unseen, Adapter()), served(unseen, adapter)
    assert np.mean(after) > np.mean(before) + 0.1 and better(before, after)


def test_where_feedback_is_chance_nothing_is_accepted() -> None:
    rng = np.random.default_rng(3)
    accepted = 0
    for trial in range(10):
        made = [one._replace(wanted=rng.permutation(one.wanted)) for one in planted(80, 0.0, trial)]
        adapter = stored(fit(made[:60], sample()))
        accepted += better(served(made[60:], Adapter()), served(made[60:], adapter))
    assert accepted <= 3, "one in ten, about"


def test_it_is_the_same_bytes_again_and_others_for_others() -> None:
    first, again, other = (fit(planted(30, 1.0, seed), sample()) for seed in (1, 1, 2))
    assert encoded(first) == encoded(again) != encoded(other)
    assert first.up is not None and again.up is not None and first.up.tobytes() == again.up.tobytes()


def test_questions_of_the_sample_hardly_turn() -> None:
    adapter = fit(planted(60, 1.5, 1), still := sample())
    turned = np.stack([adapter.through(one) for one in still])
    asked = np.stack([one.query for one in planted(60, 1.5, 1)])
    moved = np.stack([adapter.through(one) for one in asked])
    assert (turned * still).sum(axis=1).mean() > (moved * asked).sum(axis=1).mean()
    assert remembered(adapter, still, still) == remembered(Adapter(), still, still) == 1.0


def test_what_counts_less_teaches_less() -> None:
    right, wrong = planted(30, 1.5, 1), planted(30, 1.5, 2)
    wrong = [one._replace(wanted=1 - one.wanted) for one in wrong]
    gains = []
    for weight in (IMPLIED, 1.0):
        adapter = fit([*right, *(one._replace(weight=weight) for one in wrong)], sample())
        gains.append(np.mean(served(planted(60, 1.5, 5), adapter)))
    assert gains[0] > gains[1]


def test_a_vector_keeps_its_length_and_nothing_turns_without_factors() -> None:
    adapter, vector = fit(planted(20, 1.0, 1), sample()), np.full(DIMENSION, 0.3, np.float32)
    assert np.linalg.norm(adapter.through(vector)) == pytest.approx(np.linalg.norm(vector), rel=1e-5)
    assert Adapter(trouble="x").through(vector) is vector
    zero = np.zeros(DIMENSION, np.float32)
    assert adapter.through(zero) is zero


@pytest.mark.parametrize(
    ("before", "after", "better_"),
    [([0.5] * 9, [0.5] * 9, False), ([0.5] * 9, [0.7] * 9, True), ([0.5, 0.9] * 5, [0.9, 0.45] * 5, False)],
)
def test_better_is_more_than_chance(before: list[float], after: list[float], better_: bool) -> None:
    assert better(before, after) is better_


def test_what_was_wanted() -> None:
    shown = ["a", "b", "c"]
    said = FeedbackPayload(receipt_id="r", useful=["a"], cited=["b"])
    assert judged(said, shown) == ({"a": 1.0, "b": 0.0, "c": 0.0}, 1.0)
    assert judged(said.model_copy(update={"useful": []}), shown) == ({"a": 0.0, "b": 1.0, "c": 0.0}, IMPLIED)
    useless = FeedbackPayload(receipt_id="r", useless=["c"])
    assert judged(useless, shown) == ({"a": 1.0, "b": 1.0, "c": 0.0}, IMPLIED)


def record(**changes: object) -> Record:
    rows = encoded(fit(planted(20, 1.0, 1), sample()))
    payload = {**rows._asdict(), "space": SPACE.fingerprint, "user": "ada", "agent": "*", "rank": len(rows.down)}
    payload |= {"upto": 1, "examples": 20, "held_back": 5, "before": 0.5, "after": 0.6}
    payload |= {"rehearsed": 0, "rehearsed_before": 1.0, "rehearsed_after": 1.0, **changes}
    moment = "2026-01-01T00:00:00Z"
    scope = Scope(tenant="t", user="ada")
    return Record(
        id="x", kind="adapter", scope=scope, text="", payload=payload, valid_from=moment, recorded_at=moment, seq=1
    )


def test_what_comes_out_of_a_record_is_what_went_in() -> None:
    made, read = stored(fit(planted(20, 1.0, 1), sample())), decoded(record(), SPACE)
    assert made.up is not None and read.up is not None and read.trouble is None and (read.id, read.version) == ("x", 1)
    assert np.array_equal(made.up, read.up)


@pytest.mark.parametrize(
    "changes",
    [
        {"down": [[1, 2], [3]]},
        {"up": []},
        {"rank": 3},
        {"space": "another@1/32"},
        {"up_scale": float("nan")},
        {"down": [[500] * DIMENSION] * 8},
        {"down": "AAAA"},
    ],
)
def test_a_damaged_one_is_named_and_changes_nothing(changes: dict[str, object]) -> None:
    read = decoded(record(**changes), SPACE)
    vector = np.ones(DIMENSION, np.float32)
    assert read.trouble is not None and read.told["id"] == "x" and read.through(vector) is vector
