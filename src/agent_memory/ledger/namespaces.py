"""Vectors in namespaces: int8, all of one model and dimension in a namespace, compared one by one. L5, L9."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from agent_memory.ledger.quantise import directed, unit
from agent_memory.models.errors import InvalidInput
from agent_memory.models.kinds.kind import canonical_json
from agent_memory.ports.vectors import Match, called

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 2048  # vectors that are compared at a time


def packed(vector: Sequence[float], metadata: Mapping[str, Any]) -> tuple[float, bytes, str]:
    """What is stored: the scale, a byte for each number, and the metadata."""
    return *directed(unit(vector)), canonical_json(dict(metadata), "metadata")


def fit(namespace: str, stored: int | None, given: int) -> None:
    """`stored`: how many numbers the vectors there have; None: there are none."""
    if stored not in (None, given):
        raise InvalidInput(
            f"vector: namespace {called(namespace)!r} holds vectors of {stored} numbers, not {given}",
            hint="use another namespace for another model",
            field="vector",
        )


def of_one_model(namespace: str, stored: str | None, given: str | None) -> None:
    """Where there are vectors already. Those of two models have nothing to do with each other, also where they are
    equally long."""
    if stored != given:
        raise InvalidInput(
            f"model: namespace {called(namespace)!r} holds vectors of {_named(stored)}, not of {_named(given)}",
            hint="use another namespace for another model",
            field="model",
        )


def _named(model: str | None) -> str:
    return "a model that nobody named" if model is None else repr(model)


def nearest(
    rows: Iterable[tuple[str, float, bytes, str]], query: NDArray[np.float32], k: int, where: Mapping[str, Any] | None
) -> list[Match]:
    """The best of these rows (id, and as they were `packed`); equals in the order of their ids."""
    import numpy as np

    best: list[Match] = []
    left, wanted = iter(rows), (where or {}).items()
    while batch := [*islice(left, BATCH)]:
        told = [(id, scale, data, json.loads(metadata)) for id, scale, data, metadata in batch]
        kept = [row for row in told if all(row[-1].get(name) == value for name, value in wanted)]
        if kept:
            ids, scales, data, said = zip(*kept, strict=True)
            matrix = np.frombuffer(b"".join(data), np.int8).reshape(-1, len(query))
            scores = matrix.astype(np.float32) @ query * np.array(scales, np.float32)
            best += map(Match, ids, scores.tolist(), said)
            best = sorted(best, key=lambda one: (-one.score, one.id))[:k]
    return best
