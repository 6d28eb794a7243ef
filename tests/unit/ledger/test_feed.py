"""Leases by their rules alone: whatever the clock does, the last token counts."""

from __future__ import annotations

import pytest

from agent_memory.ledger.feed import MICROS, JobRow, WorkStanding, check, holds, released, renewed, taken
from agent_memory.models.errors import LeaseLost
from agent_memory.ports.feed import JobOutcome, Lease, Work

NOW = 1_700_000_000 * MICROS
HOUR = 3600 * MICROS


def held(now: int = NOW) -> JobRow:
    row = taken(JobRow("read"), "one", 60.0, 0.0, now)
    assert row is not None
    return row


def test_a_lease_ends_with_its_time() -> None:
    row = held()
    assert taken(row, "two", 60.0, 0.0, row.until - 1) is None
    after = taken(row, "two", 60.0, 0.0, row.until)
    assert after is not None and after.token > row.token
    kept = renewed(row, row.lease(), 60.0, row.until)
    assert taken(kept, "two", 60.0, 0.0, row.until) is None


def test_a_clock_that_is_set_back_holds_nobody_up() -> None:
    row = released(held(NOW), JobOutcome(1.0), NOW)
    assert taken(row, "two", 60.0, 7200.0, NOW - HOUR) is not None, "the last run is in the future"
    assert taken(held(NOW), "two", 60.0, 0.0, NOW - HOUR) is not None, "so is the beginning of this lease"


def test_whoever_lost_a_lease_early_is_shut_out_all_the_same() -> None:
    first = held(NOW)
    second = taken(first, "two", 60.0, 0.0, NOW - HOUR)
    assert second is not None
    with pytest.raises(LeaseLost):
        check(Work(first.lease()), WorkStanding(second))
    check(Work(second.lease()), WorkStanding(second))


def test_a_lease_that_is_over_and_that_nobody_took_is_still_the_last() -> None:
    row = held()
    check(Work(row.lease()), WorkStanding(row))


def test_the_same_token_of_another_is_another_lease() -> None:
    """An older file that was put back has handed out fewer tokens: the next ones are given again."""
    row = held()
    assert not holds(Lease("read", "another", row.token), row)
    assert not holds(row.lease(), released(row, None, NOW)) and not holds(row.lease(), None)
