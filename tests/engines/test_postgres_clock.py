"""A machine whose clock is years off, beside others that share the database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.parts.postgres import server

from agent_memory import AgentMemory
from agent_memory.engines.postgres.clock import MOST_APART, DatabaseClock, ticks
from agent_memory.models.moment import to_micros
from agent_memory.ports.clock import SystemClock

SLACK = timedelta(microseconds=MOST_APART)
YEARS = timedelta(days=3653)
SECOND = 1_000_000


def there(uri: str) -> datetime:
    """What time it is in the database."""
    ((now,),) = server(18).execute("select clock_timestamp()", database=uri.rpartition("/")[2])
    assert isinstance(now, datetime)
    return now


def off(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    monkeypatch.setattr(SystemClock, "micros", lambda self: to_micros(datetime.now(UTC) + by))


@pytest.mark.requirement("C13")
@pytest.mark.parametrize("by", [YEARS, -YEARS], ids=["ahead", "behind"])
def test_lines_are_dated_by_the_database(by: timedelta, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = server(18).fresh()
    with AgentMemory("ada", store=uri) as right:
        right.records.add("Staging deploys on Tuesdays.")
    off(monkeypatch, by)
    before = there(uri)
    with AgentMemory("ada", store=uri) as wrong:
        added = wrong.records.add("Production deploys on Thursdays.")
        line, record = wrong.records.journal(after=added.seq - 1)[0], wrong.records.get(added.id)
        assert len(wrong.recall("When are deploys?").hits) == 2  # what was written just now holds already
    after = there(uri)
    for moment in (line.at, added.recorded_at, record.valid_from):
        assert before - SLACK <= moment <= after + SLACK
    monkeypatch.undo()
    with AgentMemory("ada", store=uri) as right:
        later = right.records.add("Nobody deploys on Fridays.")
        assert later.recorded_at <= there(uri) + SLACK


@pytest.mark.requirement("C13")
def test_a_clock_that_is_set_while_a_process_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    uri = server(18).fresh()
    with AgentMemory("ada", store=uri) as memory:
        memory.records.add("Staging deploys on Tuesdays.")
        off(monkeypatch, YEARS)
        added = memory.records.add("Production deploys on Thursdays.")
        assert added.recorded_at <= there(uri) + SLACK


def test_a_clock_that_a_program_brings_along_is_taken_as_it_is() -> None:
    class Long:
        def now(self) -> datetime:
            return datetime(2016, 3, 2, tzinfo=UTC)

    with AgentMemory("ada", store=server(18).fresh(), clock=Long()) as memory:
        assert memory.records.add("Tuesdays").recorded_at == Long().now()


def test_an_answer_that_took_long_says_less() -> None:
    clock, now = DatabaseClock(), ticks()
    assert clock.bounded(7) == 7, "nothing was heard yet"
    clock.heard(at=now, sent=now - 20 * SECOND, received=now)
    assert clock.bounded(now + 15 * SECOND) == now + 15 * SECOND
    clock.heard(at=now, sent=now - SECOND, received=now)
    narrow = clock.bounded(now + 15 * SECOND)
    assert narrow < now + 15 * SECOND
    clock.heard(at=now, sent=now - 20 * SECOND, received=now)
    assert clock.bounded(now + 15 * SECOND) < now + 15 * SECOND, "what was known is not forgotten"
    clock.heard(at=now + 90 * SECOND, sent=now, received=now)
    assert clock.bounded(now) >= now + 89 * SECOND, "the database's clock was set"
