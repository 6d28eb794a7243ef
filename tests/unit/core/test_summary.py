"""Groups of records that are similar enough, every pair of them; and summaries that only quote. E3, T10."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from numpy.typing import NDArray

from agent_memory.core.recall.summary import ranked, summary
from agent_memory.core.upkeep.merging import ALIKE, groups, mergeable
from agent_memory.core.upkeep.pruning import Pins
from agent_memory.models.record import Record, Scope, Status

pytestmark = pytest.mark.requirement("E3")


def record(number: int, **fields: object) -> Record:
    begun = f"2026-03-02T09:00:{number % 60:02}Z"
    said = {"id": f"r{number}", "kind": "observation", "scope": Scope(user="ada"), "text": "the same"}
    return Record.model_validate({**said, "valid_from": begun, "recorded_at": begun, "seq": number, **fields})


def at(*degrees: float) -> NDArray[np.float32]:
    return np.array([[math.cos(math.radians(one)), math.sin(math.radians(one))] for one in degrees], np.float32)


@given(some.lists(some.floats(0, 180), max_size=12))
def test_every_pair_of_a_group_is_similar_and_nothing_is_in_two(angles: list[float]) -> None:
    made = groups([record(number) for number in range(len(angles))], {f"r{n}": at(one) for n, one in enumerate(angles)})
    for members in made:
        assert len(members) > 1
        assert all(
            math.cos(math.radians(angles[a.seq] - angles[b.seq])) > ALIKE - 1e-6 for a in members for b in members
        )
    every = [one.id for members in made for one in members]
    assert len(every) == len(set(every))


def test_there_are_no_chains() -> None:
    found = groups([record(number) for number in range(3)], {"r0": at(0), "r1": at(25), "r2": at(50)})
    assert [[one.seq for one in members] for members in found] == [[0, 1]]


def test_what_joins_a_merged_record_is_like_all_that_it_stands_for() -> None:
    assert groups([record(0), record(1)], {"r0": at(0, 20), "r1": at(40)}) == []
    assert len(groups([record(0), record(1)], {"r0": at(0, 20), "r1": at(25)})) == 1


def test_who_has_no_vector_is_in_no_group() -> None:
    assert groups([record(0), record(1)], {"r0": at(0)}) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"status": Status.HELD},
        {"key": "k"},
        {"valid_to": "2030-01-01T00:00:00Z"},
        {"payload": {"run_id": "r"}},
    ],
    ids=str,
)
def test_what_may_be_merged_stands_alone(fields: dict[str, object]) -> None:
    assert mergeable(record(1), Pins()) and not mergeable(record(1, **fields), Pins())


WORDS = some.sampled_from("staging database port backup nightly runs fails not Ada Bob tea".split())
TEXTS = some.lists(some.lists(WORDS, min_size=1, max_size=8).map(" ".join), min_size=1, max_size=10)


@pytest.mark.requirement("T10")
@given(TEXTS, some.integers(1, 5))
def test_a_summary_quotes_in_order_and_never_invents(texts: list[str], most: int) -> None:
    said = summary(texts, most)
    assert 1 <= len(said) <= most
    left = iter(texts)
    assert all(one in left for one in said), "the texts themselves, in their order"
    assert sorted(ranked(texts)) == [*range(len(texts))] and summary(texts, most) == said


@pytest.mark.requirement("T10")
def test_what_many_say_comes_first_and_then_what_differs() -> None:
    texts = ["the backup fails at night", "tea is served at five", "the backup fails", "every night the backup fails"]
    first, second, *_ = ranked(texts)
    assert first in (0, 2, 3) and second == 1
