"""Moments as people type them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import agent_memory.app.namespaces  # noqa: F401 - fills the table
from agent_memory.app.operations import TABLE
from agent_memory.interfaces.moments import moment

PORT = "Staging listens on port 5433"


NOW = datetime(2026, 3, 10, 15, 30, tzinfo=UTC)  # a Tuesday


def parse(text: str, now: datetime) -> datetime:
    return moment("after", text, now)


def at_its_end(text: str, now: datetime) -> datetime:
    return moment("valid_at", text, now)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("now", NOW),
        ("today", NOW.replace(hour=0, minute=0)),
        ("Yesterday", datetime(2026, 3, 9, tzinfo=UTC)),
        ("two weeks ago", NOW - timedelta(weeks=2)),
        ("tuesday", datetime(2026, 3, 10, tzinfo=UTC)),  # the latest that has begun, as in a question
        ("wednesday", datetime(2026, 3, 4, tzinfo=UTC)),
        ("on Monday", datetime(2026, 3, 9, tzinfo=UTC)),
        ("this friday", datetime(2026, 3, 13, tzinfo=UTC)),
        ("10 November 2025", datetime(2025, 11, 10, tzinfo=UTC)),
        ("November 10th, 2025", datetime(2025, 11, 10, tzinfo=UTC)),
        ("since 10 November", datetime(2025, 11, 10, tzinfo=UTC)),
        ("november", datetime(2025, 11, 1, tzinfo=UTC)),
        ("in March 2025", datetime(2025, 3, 1, tzinfo=UTC)),
        ("this week", datetime(2026, 3, 9, tzinfo=UTC)),
        ("last night", datetime(2026, 3, 9, tzinfo=UTC)),
        ("last week", NOW - timedelta(days=7)),
        ("2 days ago", NOW - timedelta(days=2)),
        ("  90   minutes ago", NOW - timedelta(minutes=90)),
        ("an hour ago", NOW - timedelta(hours=1)),
        ("3h ago", NOW - timedelta(hours=3)),
        ("in 2 weeks", NOW + timedelta(weeks=2)),
        ("2d", NOW - timedelta(days=2)),
        ("3h", NOW - timedelta(hours=3)),
        ("a week ago", NOW - timedelta(weeks=1)),
        ("1 month ago", NOW.replace(month=2)),
        ("a month ago", NOW.replace(month=2)),
        ("3 months ago", NOW.replace(year=2025, month=12)),
        ("in 10 months", NOW.replace(year=2027, month=1)),
        ("1 year ago", NOW.replace(year=2025)),
        ("2mo", NOW.replace(month=1)),
        ("last month", NOW.replace(month=2)),
        ("noon", NOW.replace(hour=12, minute=0)),
        ("midnight", NOW.replace(hour=0, minute=0)),
        ("last monday", datetime(2026, 3, 9, tzinfo=UTC)),
        ("Last Tuesday", datetime(2026, 3, 3, tzinfo=UTC)),  # today is one
        ("last wed", datetime(2026, 3, 4, tzinfo=UTC)),
        ("next sunday", datetime(2026, 3, 15, tzinfo=UTC)),
        ("next tuesday", datetime(2026, 3, 17, tzinfo=UTC)),
        ("2026-03-01T10:00:00+02:00", datetime(2026, 3, 1, 8, tzinfo=UTC)),
        ("2026-03-01T10:00Z", datetime(2026, 3, 1, 10, tzinfo=UTC)),
    ],
)
def test_moments_as_people_type_them(text: str, moment: datetime) -> None:
    assert parse(text, NOW) == moment


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2 days", "in 2 days ago", "ago", "2026", "-1 days ago", "2 fortnights ago"),
        *(
            "what happened on 3 May",
            "31 February 2026",
            "2026-13",
            "2x",
            "d",
            "last someday",
            "monday noon",
            "99999 years ago",
            "in 99999 months",
        ),
    ],
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        parse(text, NOW)


def test_the_end_of_a_month_is_kept_inside_it() -> None:
    assert parse("1 month ago", datetime(2026, 3, 31, 8, tzinfo=UTC)) == datetime(2026, 2, 28, 8, tzinfo=UTC)
    assert parse("1 year ago", datetime(2028, 2, 29, 8, tzinfo=UTC)) == datetime(2027, 2, 28, 8, tzinfo=UTC)


LAST = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("last tuesday", datetime(2026, 3, 4, tzinfo=UTC) - LAST),
        ("last monday", datetime(2026, 3, 10, tzinfo=UTC) - LAST),
        ("next sunday", datetime(2026, 3, 16, tzinfo=UTC) - LAST),
        ("yesterday", datetime(2026, 3, 10, tzinfo=UTC) - LAST),
        ("today", NOW),
        ("tuesday", NOW),
        ("this week", NOW),
        ("10 November 2025", datetime(2025, 11, 11, tzinfo=UTC) - LAST),
        ("november 2025", datetime(2025, 12, 1, tzinfo=UTC) - LAST),
        ("two weeks ago", NOW - timedelta(weeks=2)),
        ("tomorrow", datetime(2026, 3, 12, tzinfo=UTC) - LAST),
        ("midnight", NOW.replace(hour=0, minute=0)),
        ("2 days ago", NOW - timedelta(days=2)),
        ("last week", NOW - timedelta(days=7)),
        ("2026-03-01T10:00Z", datetime(2026, 3, 1, 10, tzinfo=UTC)),
    ],
)
def test_a_read_looks_at_a_day_in_its_end(text: str, moment: datetime) -> None:
    assert at_its_end(text, NOW) == moment


@pytest.mark.parametrize("name", ["valid_to", "deadline"])
def test_what_ends_on_a_day_ends_with_it_and_a_weekday_is_the_next_one(name: str) -> None:
    assert moment(name, "today", NOW) == datetime(2026, 3, 11, tzinfo=UTC) - LAST
    assert moment(name, "friday", NOW) == datetime(2026, 3, 14, tzinfo=UTC) - LAST
    assert moment(name, "2026-03-01T10:00Z", NOW) == datetime(2026, 3, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("name", ["valid_to", "deadline"])
@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("2 January", datetime(2027, 1, 3, tzinfo=UTC)),
        ("until the 10th of December", datetime(2026, 12, 11, tzinfo=UTC)),
        ("9 March", datetime(2027, 3, 10, tzinfo=UTC)),
        ("10 March", datetime(2026, 3, 11, tzinfo=UTC)),  # today, which has not ended
        ("march", datetime(2026, 4, 1, tzinfo=UTC)),
        ("february", datetime(2027, 3, 1, tzinfo=UTC)),
        ("29 February", datetime(2028, 3, 1, tzinfo=UTC)),
        ("last day of may", datetime(2026, 6, 1, tzinfo=UTC)),
        ("2 January 2026", datetime(2026, 1, 3, tzinfo=UTC)),
        ("last may", datetime(2025, 6, 1, tzinfo=UTC)),
    ],
)
def test_what_ends_without_a_year_ends_the_next_time(name: str, text: str, following: datetime) -> None:
    assert moment(name, text, NOW) == following - LAST


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("1 April", datetime(2026, 4, 1, tzinfo=UTC)),
        ("20 August", datetime(2026, 8, 20, tzinfo=UTC)),
        ("20 October", datetime(2025, 10, 20, tzinfo=UTC)),
        ("1 March", datetime(2026, 3, 1, tzinfo=UTC)),
        ("10 March", datetime(2026, 3, 10, tzinfo=UTC)),
        ("may", datetime(2026, 5, 1, tzinfo=UTC)),
        ("last may", datetime(2025, 5, 1, tzinfo=UTC)),
        ("1 April 2025", datetime(2025, 4, 1, tzinfo=UTC)),
    ],
)
def test_what_begins_without_a_year_begins_the_nearest_time(text: str, start: datetime) -> None:
    assert moment("valid_from", text, NOW) == start


@pytest.mark.parametrize("name", ["after", "before", "since", "valid_at", "as_of"])
def test_what_is_read_without_a_year_is_past(name: str) -> None:
    assert moment(name, "1 April", NOW).date() == datetime(2025, 4, 1, tzinfo=UTC).date()


@pytest.mark.parametrize("text", ["10/11/2026", "on 10/11/2026", "1/02/2026"])
def test_a_date_that_can_be_read_in_two_ways_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"could be .* or .*: write 2026-"):
        parse(text, NOW)


def test_a_date_that_can_be_read_in_one_way_is_taken() -> None:
    assert parse("13/11/2025", NOW) == parse("11/13/2025", NOW) == datetime(2025, 11, 13, tzinfo=UTC)
    assert parse("11/11/2025", NOW) == datetime(2025, 11, 11, tzinfo=UTC)


def test_the_command_line_says_how_a_date_can_be_read(here: Any) -> None:
    refused = here("list", "--valid-at", "10/11/2026")
    assert refused.code == 2 and "could be 10 November 2026 or 11 October 2026" in refused.err
    assert 'write 2026-11-10 or "10 November 2026"' in refused.err


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_named_days_and_months_are_local_whatever_the_season(berlin: None) -> None:
    now = datetime(2026, 4, 1, 12).astimezone()  # summer time began three days before
    assert parse("1 month ago", now).isoformat() == "2026-03-01T12:00:00+01:00"
    assert parse("last friday", now).isoformat() == "2026-03-27T00:00:00+01:00"
    assert parse("last monday", now).isoformat() == "2026-03-30T00:00:00+02:00"
    assert parse("2026-01", now).isoformat() == "2026-01-01T00:00:00+01:00"
    assert parse("noon", now).isoformat() == "2026-04-01T12:00:00+02:00"


def test_the_end_of_a_day_is_that_of_the_local_one(berlin: None) -> None:
    now = datetime(2026, 4, 1, 12).astimezone()
    assert at_its_end("2026-03-29", now).isoformat() == "2026-03-29T23:59:59.999999+02:00"  # a day of 23 hours
    assert at_its_end("last friday", now).isoformat() == "2026-03-27T23:59:59.999999+01:00"
    assert at_its_end("2026-02", now).isoformat() == "2026-02-28T23:59:59.999999+01:00"
    assert at_its_end("2026-04", now) == at_its_end("2026-04-01", now) == now


def test_a_day_is_a_day_and_the_moment_taken_is_shown(here: Any, process: Any, terminal: Any) -> None:
    claim = '{"claim": "%s", "source": "user_stated", "subject": "staging", "predicate": "port", "created_at": "%s"}'
    here("semantic", "store-fact", claim % ("port 1", "2026-01-01T00:00:00Z"))
    here("semantic", "store-fact", claim % ("port 2", "2026-01-15T09:00:00Z"))
    asked = ("recall", "port", "--valid-at", "2026-01-15")
    found = here(*asked, "--json").json
    assert [hit["record"]["text"] for hit in found["hits"]] == ["port 2"]
    taken = datetime.fromisoformat(found["valid_at"])
    assert taken == at_its_end("2026-01-15", datetime.now().astimezone())
    shown = f"what held at {taken.astimezone().isoformat(timespec='seconds')}"
    for command in (asked, ("list", "--valid-at", "2026-01-15"), ("context", *asked[1:])):
        assert shown in process(*command).err
    assert here("context", *asked[1:], "--json").json["valid_at"] == found["valid_at"]
    assert shown in " ".join(terminal(*asked).out.split())
    assert "what was known at" in process("recall", "port", "--as-of", "yesterday").err
    assert here("recall", "port", "--json").json["valid_at"] is None


def test_the_moment_taken_is_a_field_of_every_answer_in_json(here: Any, process: Any) -> None:
    here("add", "one", "--id", "one", "--valid-from", "2026-01-01")
    taken = datetime.fromisoformat(here("recall", "one", "--valid-at", "10 February 2026", "--json").json["valid_at"])
    then = ("--valid-at", "10 February 2026", "--json")
    assert taken == at_its_end("2026-02-10", datetime.now().astimezone())
    (listed,) = here("list", *then).json
    for answer in (listed, here("show", "one", *then).json, here("remember", "--query", "one", *then).json):
        assert datetime.fromisoformat(answer["valid_at"]) == taken
    nothing = process("list", "--valid-at", "2 February 2025", "--json")
    assert nothing.json == [] and "what held at 2025-02-02T23:59:59" in nothing.err
    assert "valid_at" not in here("show", "one", "--json").json
    assert here("show", "one", "--as-of", "now", "--json").json["as_of"] is not None


@pytest.mark.parametrize("text", ["tuesday", "last tuesday", "10 November 2025", "two weeks ago", "yesterday"])
@pytest.mark.parametrize("name", ["valid_at", "after", "before"])
def test_the_command_line_and_mcp_take_the_same_words(here: Any, text: str, name: str) -> None:
    pytest.importorskip("mcp")
    from agent_memory.interfaces.cli import options
    from agent_memory.interfaces.mcp.arguments import ReadCall, understood

    listing = TABLE["records.find"]
    (option,) = (one for one in options.parameters(listing.signature, listing.name) if one.name == name)
    typed = option.type.convert(text, option, None)
    said = datetime.fromisoformat(understood(listing, {name: text}, ReadCall(datetime.now().astimezone()))[name])
    assert abs(typed - said) < timedelta(minutes=1) and typed <= datetime.now().astimezone()


def test_a_moment_without_a_zone_is_local(process: Any) -> None:
    process("add", "x", "--id", "x", "--valid-from", "2026-03-01T10:00", TZ="JST-9")
    assert process("show", "x", "--json").json["valid_from"] == "2026-03-01T01:00:00Z"
    assert process("list", "--before", "2026-03-01", "--json", TZ="JST-9").json == []


@pytest.mark.requirement("P7")
def test_asking_as_of_a_moment(here: Any) -> None:
    claim = '{"claim": "%s", "source": "user_stated", "subject": "staging", "predicate": "port", "created_at": "%s"}'
    here("semantic", "store-fact", claim % ("port 1", "2026-01-01T00:00:00Z"))
    here("semantic", "store-fact", claim % ("port 2", "2026-02-01T00:00:00Z"))
    assert [hit["record"]["text"] for hit in here("recall", "port", "--json").json["hits"]] == ["port 2"]
    then = here("recall", "port", "--valid-at", "2026-01-15", "--json").json["hits"]
    assert [hit["record"]["text"] for hit in then] == ["port 1"]
    assert here("recall", "port", "--as-of", "2 days ago", "--json").json["hits"] == []
