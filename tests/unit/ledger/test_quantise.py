"""int8 vectors: a quarter of the memory, close to the truth, and one answer for one vector."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from agent_memory.ledger.quantise import quantised, unit
from agent_memory.models.errors import InvalidInput

steady = settings(deadline=None, derandomize=True, database=None)
Floats = NDArray[np.float32]

vectors = arrays(
    np.float32, st.integers(1, 100), elements=st.floats(-1000, 1000, width=32, allow_subnormal=False)
).filter(lambda vector: float(np.abs(vector).max()) > 1e-3)


def restored(scale: float, data: bytes) -> Floats:
    return np.frombuffer(data, np.int8).astype(np.float32) * np.float32(scale)


@pytest.mark.requirement("E2")
@steady
@given(vectors)
def test_a_quarter_of_the_memory(vector: Floats) -> None:
    _, data = quantised(unit(vector))
    assert len(data) * 4 == vector.nbytes


@pytest.mark.requirement("E2")
@steady
@given(vectors)
def test_no_number_is_off_by_more_than_half_a_step(vector: Floats) -> None:
    truth = unit(vector)
    scale, data = quantised(truth)
    assert np.abs(restored(scale, data) - truth).max() <= scale / 2 * 1.0001
    assert scale <= 1 / 127 * 1.0001


@pytest.mark.requirement("E2")
@steady
@given(st.integers(0, 2**32 - 1), st.sampled_from((64, 384, 1536)))
def test_a_similarity_is_off_by_less_than_a_hundredth(seed: int, dimension: int) -> None:
    random = np.random.default_rng(seed)
    stored, query = (unit(random.standard_normal(dimension).astype(np.float32)) for _ in range(2))
    for other in (query, stored, unit(stored + query)):
        scale, data = quantised(stored)
        assert abs(float(restored(scale, data) @ other) - float(stored @ other)) < 0.01


@steady
@given(vectors)
def test_the_largest_number_becomes_127_and_none_overflows(vector: Floats) -> None:
    _, data = quantised(unit(vector))
    numbers = np.frombuffer(data, np.int8)
    assert np.abs(numbers.astype(int)).max() == 127


@steady
@given(vectors, st.sampled_from((0.5, 2.0, 64.0)))
def test_only_the_direction_counts(vector: Floats, factor: float) -> None:
    one, other = quantised(unit(vector)), quantised(unit(vector * np.float32(factor)))
    assert np.abs(restored(*one) - restored(*other)).max() <= 1 / 127 * 1.0001
    assert unit(vector).dtype == np.float32
    assert float(np.linalg.norm(unit(vector))) == pytest.approx(1.0, abs=1e-4)


def test_nothing_but_zeros_stays_that() -> None:
    assert quantised(np.zeros(4, np.float32)) == (1.0, bytes(4))


@pytest.mark.parametrize(
    "vector", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [[1.0, 0.0]], [1e-46, 0.0]]
)
def test_what_is_no_direction_is_refused(vector: list[float]) -> None:
    with pytest.raises(InvalidInput) as caught:
        unit(vector)
    assert caught.value.field == "vector"
