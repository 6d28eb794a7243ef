"""Which versions a view shows: of columns with one row for each, all versions of a record among them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent_memory.ports.records import View

Columns = dict[str, NDArray[Any]]
Mask = NDArray[np.bool_]


def believed(columns: Columns, at: int) -> Mask:
    """As of a journal line. What was erased ended before all lines."""
    return (columns["version"] <= at) & (columns["ended"] > at)


def holding(columns: Columns, mask: Mask, view: View, past: tuple[tuple[int, int], ...] = ()) -> Mask:
    """Of these, which the view shows by valid time; and those that are over, and held in one of these intervals."""
    valid_from, valid_to = columns["valid_from"], columns["valid_to"]
    if view.valid_at is not None:
        return mask & (valid_from <= view.valid_at) & (valid_to > view.valid_at)
    left = mask & (valid_to > view.now)
    later = left & (valid_from > view.now)
    if later.any():
        left &= ~later
        coming = later & (valid_from < valid_to)  # what was cut to nothing never comes
        left |= _first_to_come(columns, left, coming)
    return left | (mask & _held(columns, past) & (valid_to <= view.now)) if past else left


def _held(columns: Columns, past: tuple[tuple[int, int], ...]) -> Mask:
    """Which versions held at some moment of one of these intervals."""
    begins, ends = columns["valid_from"], columns["valid_to"]
    held = np.zeros(len(begins), np.bool_)
    for start, end in past:
        held |= np.maximum(begins, start) < np.minimum(ends, end)
    return held


def _first_to_come(columns: Columns, held: Mask, coming: Mask) -> Mask:
    """Of records that only begin in the future, the version that begins first."""
    first = np.zeros(len(held), np.bool_)
    begins = columns["record"][coming]
    holding = set(begins[np.isin(begins, columns["record"][held])].tolist())
    earliest: dict[int, int] = {}
    for row in np.flatnonzero(coming).tolist():
        record = int(columns["record"][row])
        other = earliest.get(record)
        if record not in holding and (other is None or columns["valid_from"][row] < columns["valid_from"][other]):
            earliest[record] = row
    first[list(earliest.values())] = True
    return first
