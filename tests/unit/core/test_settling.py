"""Writes that depend on what was read: tried again when it changed, refused at once when the caller meant another."""

from __future__ import annotations

import pytest

from agent_memory.core.write.commit import until_settled
from agent_memory.models.errors import Changed, Conflict


def test_what_changed_meanwhile_is_read_again() -> None:
    versions = iter((1, 2, 3))

    def write(version: int) -> int:
        if version < 3:
            raise Changed("somebody was faster")
        return version

    assert until_settled(write, lambda: next(versions)) == 3


def test_what_will_conflict_for_ever_is_refused_at_once() -> None:
    reads: list[int] = []

    def write(_: None) -> None:
        raise Conflict("another record has this key")

    with pytest.raises(Conflict):
        until_settled(write, lambda: reads.append(1))
    assert reads == [1]


def test_what_the_reading_refuses_is_refused_at_once() -> None:
    reads: list[int] = []

    def read() -> int:
        reads.append(1)
        raise Changed("another version was meant")

    with pytest.raises(Changed):
        until_settled(lambda version: version, read)
    assert len(reads) == 1
