"""The periods a question names, asked on Wednesday 14 June 2023 at half past three unless a test says otherwise."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_memory.core.recall.dates import Period, periods
from patience import growth

NOW = datetime(2023, 6, 14, 15, 30, tzinfo=UTC)
OPEN, EVER, RIGHT_NOW = "0001-01-03", "9999-12-29", "2023-06-14T15:30"

# What is asked, and the first moment and the first moment after, in the asker's zone.
SAID = [
    # dates
    ("What happened on 2023-05-07?", "2023-05-07", "2023-05-08"),
    ("the notes of 2023/05/07", "2023-05-07", "2023-05-08"),
    ("the log at 2023-05-07T10:30:15", "2023-05-07T10:30:15", "2023-05-07T10:30:16"),
    ("the log at 2023-05-07 10:30.", "2023-05-07T10:30", "2023-05-07T10:31"),
    ("the log at 2023-05-07T10:30+09:00", "2023-05-07T01:30", "2023-05-07T01:31"),
    ("the log at 2023-05-07t10:30:00.123z", "2023-05-07T10:30", "2023-05-07T10:30:01"),
    ("releases in 2023-05", "2023-05-01", "2023-06-01"),
    ("5/7/2023", "2023-05-07", "2023-05-08"),
    ("25/7/2022", "2022-07-25", "2022-07-26"),
    ("7.5.2023", "2023-05-07", "2023-05-08"),
    ("Where was I on 7 May 2023?", "2023-05-07", "2023-05-08"),
    ("7-May-2023", "2023-05-07", "2023-05-08"),
    ("on Sunday, 7 May 2023", "2023-05-07", "2023-05-08"),
    ("on Sunday, May 7th, 2023", "2023-05-07", "2023-05-08"),
    ("May 7th, 2023", "2023-05-07", "2023-05-08"),
    ("MAY 7 2023", "2023-05-07", "2023-05-08"),
    ("the 7th of May", "2023-05-07", "2023-05-08"),
    ("may 7?", "2023-05-07", "2023-05-08"),
    ("May the 4th", "2023-05-04", "2023-05-05"),
    ("14 June", "2023-06-14", "2023-06-15"),
    ("15 June", "2022-06-15", "2022-06-16"),
    ("Sept. 5", "2022-09-05", "2022-09-06"),
    ("29 February", "2020-02-29", "2020-03-01"),
    ("on 31 December 2099", "2099-12-31", "2100-01-01"),
    # months, years, seasons, quarters
    ("in May 2023", "2023-05-01", "2023-06-01"),
    ("May 2022", "2022-05-01", "2022-06-01"),
    ("March, 2021", "2021-03-01", "2021-04-01"),
    ("March of 2021", "2021-03-01", "2021-04-01"),
    ("in May", "2023-05-01", "2023-06-01"),
    ("In May I went where?", "2023-05-01", "2023-06-01"),
    ("during March", "2023-03-01", "2023-04-01"),
    ("in december", "2022-12-01", "2023-01-01"),
    ("in 2022", "2022-01-01", "2023-01-01"),
    ("the year 2022", "2022-01-01", "2023-01-01"),
    ("summer 2022", "2022-06-01", "2022-09-01"),
    ("the winter of 2021", "2021-12-01", "2022-03-01"),
    ("last summer", "2022-06-01", "2022-09-01"),
    ("this spring", "2023-03-01", "2023-06-01"),
    ("in the spring", "2023-03-01", "2023-06-01"),
    ("next winter", "2023-12-01", "2024-03-01"),
    ("winter 2021-2022", "2021-12-01", "2022-03-01"),
    ("Q3 2022", "2022-07-01", "2022-10-01"),
    ("Q1 of 2023", "2023-01-01", "2023-04-01"),
    ("last June", "2022-06-01", "2022-07-01"),
    ("this May", "2023-05-01", "2023-06-01"),
    # parts
    ("early June 2023", "2023-06-01", "2023-06-11"),
    ("mid-June 2022", "2022-06-11", "2022-06-21"),
    ("late May", "2023-05-21", "2023-06-01"),
    ("late last year", "2022-09-01", "2023-01-01"),
    ("end of 2022", "2022-09-01", "2023-01-01"),
    ("the beginning of July", "2022-07-01", "2022-07-11"),
    ("end of the month", "2023-06-21", "2023-07-01"),
    ("first week of August", "2022-08-01", "2022-08-08"),
    ("in the last week of May", "2023-05-25", "2023-06-01"),
    ("first weekend of August 2023", "2023-08-05", "2023-08-07"),
    ("the last weekend of May 2023", "2023-05-27", "2023-05-29"),
    ("the second Tuesday of May", "2023-05-09", "2023-05-10"),
    ("second half of 2022", "2022-07-01", "2023-01-01"),
    ("the first half of September 2022", "2022-09-01", "2022-09-16"),
    ("the second half of June 2022", "2022-06-16", "2022-07-01"),
    ("the last day of 2022", "2022-12-31", "2023-01-01"),
    ("the week before 9 June 2023", "2023-06-02", "2023-06-09"),
    ("the Sunday before 25 May 2023", "2023-05-21", "2023-05-22"),
    ("the weekend before 17 July 2022", "2022-07-09", "2022-07-11"),
    ("the weekend after 4 July", "2022-07-09", "2022-07-11"),
    ("the day after 31 December 2022", "2023-01-01", "2023-01-02"),
    ("the month before June 2023", "2023-05-01", "2023-06-01"),
    ("the week of 7 June 2023", "2023-06-05", "2023-06-12"),
    ("the month of May", "2023-05-01", "2023-06-01"),
    ("two days before 9 June 2023", "2023-06-07", "2023-06-08"),
    ("a year after 5 May 2021", "2021-11-04", "2022-11-04"),
    # around now
    ("today", "2023-06-14", "2023-06-15"),
    ("What did I eat yesterday?", "2023-06-13", "2023-06-14"),
    ("the day before yesterday", "2023-06-12", "2023-06-13"),
    ("the day after tomorrow", "2023-06-16", "2023-06-17"),
    ("tomorrow", "2023-06-15", "2023-06-16"),
    ("this morning", "2023-06-14T05:00", "2023-06-14T12:00"),
    ("yesterday evening", "2023-06-13T18:00", "2023-06-14"),
    ("last night", "2023-06-13T18:00", "2023-06-14T06:00"),
    ("tonight", "2023-06-14T18:00", "2023-06-15T06:00"),
    ("last week", "2023-06-05", "2023-06-12"),
    ("this week", "2023-06-12", "2023-06-19"),
    ("next week", "2023-06-19", "2023-06-26"),
    ("the week before last", "2023-05-29", "2023-06-05"),
    ("past week", "2023-06-07", RIGHT_NOW),
    ("last month", "2023-05-01", "2023-06-01"),
    ("this month", "2023-06-01", "2023-07-01"),
    ("the past month", "2023-05-14", RIGHT_NOW),
    ("next month", "2023-07-01", "2023-08-01"),
    ("last quarter", "2023-01-01", "2023-04-01"),
    ("last year", "2022-01-01", "2023-01-01"),
    ("this year", "2023-01-01", "2024-01-01"),
    ("next year", "2024-01-01", "2025-01-01"),
    ("last weekend", "2023-06-10", "2023-06-12"),
    ("this weekend", "2023-06-17", "2023-06-19"),
    ("over the weekend", "2023-06-10", "2023-06-12"),
    ("last Tuesday", "2023-06-13", "2023-06-14"),
    ("last Wednesday", "2023-06-07", "2023-06-08"),
    ("this past Friday", "2023-06-09", "2023-06-10"),
    ("this Friday", "2023-06-16", "2023-06-17"),
    ("next Tuesday", "2023-06-20", "2023-06-21"),
    ("on Tuesday", "2023-06-13", "2023-06-14"),
    ("on Thursday", "2023-06-08", "2023-06-09"),
    ("on Sat", "2023-06-10", "2023-06-11"),
    ("3 days ago", "2023-06-11", "2023-06-12"),
    ("twelve days ago", "2023-06-02", "2023-06-03"),
    ("two weeks ago", "2023-05-28", "2023-06-04"),
    ("a month ago", "2023-04-29", "2023-05-30"),
    ("a few days ago", "2023-06-09", "2023-06-13"),
    ("a couple of weeks ago", "2023-05-21", "2023-06-04"),
    ("an hour ago", "2023-06-14T14:00", "2023-06-14T15:00"),
    ("recently", "2023-05-15", RIGHT_NOW),
    ("Have I run lately?", "2023-05-15", RIGHT_NOW),
    ("in the last 10 days", "2023-06-04", RIGHT_NOW),
    ("over the past two months", "2023-04-14", RIGHT_NOW),
    ("within the last 24 hours", "2023-06-13T15:30", RIGHT_NOW),
    ("the next two weeks", RIGHT_NOW, "2023-06-29"),
    # bounds and ranges
    ("since March", "2023-03-01", RIGHT_NOW),
    ("since 3 May", "2023-05-03", RIGHT_NOW),
    ("since last week", "2023-06-05", RIGHT_NOW),
    ("since the beginning of the year", "2023-01-01", RIGHT_NOW),
    ("since the year 2020", "2020-01-01", RIGHT_NOW),
    ("before June 2023", OPEN, "2023-06-01"),
    ("before the end of 2022", OPEN, "2023-01-01"),
    ("until May", OPEN, "2023-06-01"),
    ("by 5 May 2023", OPEN, "2023-05-06"),
    ("up to now", OPEN, RIGHT_NOW),
    ("after 5 May 2023", "2023-05-06", EVER),
    ("after 2021", "2022-01-01", EVER),
    ("between 3 and 9 May 2023", "2023-05-03", "2023-05-10"),
    ("May 3-9, 2023", "2023-05-03", "2023-05-10"),
    ("3–9 May", "2023-05-03", "2023-05-10"),
    ("between 3 May and 9 June 2022", "2022-05-03", "2022-06-10"),
    ("from March to May 2022", "2022-03-01", "2022-06-01"),
    ("from November to February 2023", "2022-11-01", "2023-03-01"),
    ("from May 2021 to July", "2021-05-01", "2021-08-01"),
    ("from early March until the end of May 2022", "2022-03-01", "2022-06-01"),
    ("from 2019 to 2021", "2019-01-01", "2022-01-01"),
    ("in 2019-2021", "2019-01-01", "2022-01-01"),
    ("from May 2022 until now", "2022-05-01", RIGHT_NOW),
    ("from Monday to Friday", "2023-06-05", "2023-06-10"),
]

UNSAID = [
    "",
    "May I ask something?",
    "may I",
    "You may go now.",
    "This may be wrong, and these 3 may not be.",
    "This may help",
    "They march on Washington",
    "Should we march to May's house?",
    "Where is the sun? He sat on a monument, Monica.",
    "on sunlight and on saturation",
    "version 2.5.2023-rc1",
    "version 2.5.2023",
    "Is 10.0.0.1 on port 2023?",
    "v2023.05.07 at host:2023",
    "a second, please; the second one",
    "2023 servers",
    "in 1850 or in 2150",
    "31 February 2023",
    "in February 30, 2023",
    "2023-13-01 and 2023-02-29",
    "13/13/2023",
    "45 May 2023",
    "7 May 3050",
    "0000-01-01",
    "99999999999999999999 days ago",
    "9999 years ago",
    "every Tuesday, and on Tuesdays",
    "fifth week of, last but not least",
    "the 2020s",
    "the last night of the trip",
    "CVE-2023-05 and 555-2023-05-07",
    "the week, the month and the year",
    "since tomorrow",
    "half an hour ago",
    "by now, after now",
    "on 5 May '19, in May '19",
]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(("question", "start", "end"), SAID, ids=[row[0] for row in SAID])
def test_a_phrase_names_one_period(question: str, start: str, end: str) -> None:
    assert [(p.start, p.end) for p in periods(question, NOW)] == [(moment(start), moment(end))]


@pytest.mark.parametrize("question", [row[0] for row in SAID])
def test_inside_a_sentence_and_in_any_case_it_means_the_same(question: str) -> None:
    alone = [(p.start, p.end) for p in periods(question, NOW)]
    for asked in (f"Tell me: {question}, please.", question.title(), question.replace(" ", "\n ")):
        if "Sat" not in question and ":" not in question:  # a name by its capital, and a time by its single blank
            assert [(p.start, p.end) for p in periods(asked, NOW)] == alone


@pytest.mark.parametrize("question", UNSAID)
def test_what_only_looks_like_a_date_names_nothing(question: str) -> None:
    assert periods(question, NOW) == []


@pytest.mark.parametrize(
    ("question", "exact"),
    [
        ("7 May 2023", True),
        ("in May", True),
        ("3 days ago", True),
        ("last week", True),
        ("since March", True),
        ("from March to May 2022", True),
        ("a few days ago", False),
        ("two weeks ago", False),
        ("recently", False),
        ("last summer", False),
        ("early June 2023", False),
        ("before the summer of 2022", False),
        ("from early March to May 2022", False),
        ("in the last few weeks", False),
        ("this morning", False),
    ],
)
def test_vague_words_are_not_exact(question: str, exact: bool) -> None:
    assert [p.exact for p in periods(question, NOW)] == [exact]


def test_the_words_are_given_as_they_were_asked() -> None:
    found = periods("Did we meet Since March, on the 7th of MAY or in the last week of May 2022?", NOW)
    assert [p.text for p in found] == ["Since March", "the 7th of MAY", "the last week of May 2022"]


def test_several_periods_come_in_order_and_no_more_than_eight() -> None:
    assert [p.start.year for p in periods("in 2021, in 2019 and 2020", NOW)] == [2021, 2019, 2020]
    asked = "in April or May, before or after 5 June?"
    assert [p.text for p in periods(asked, NOW)] == ["April", "May", "5 June"]
    days = ", ".join(f"{day} May 2023" for day in range(1, 21))
    assert [p.start.day for p in periods(days, NOW)] == list(range(1, 9))


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("today", "2023-06-15T00:00+09:00", "2023-06-16T00:00+09:00"),
        ("yesterday", "2023-06-14T00:00+09:00", "2023-06-15T00:00+09:00"),
        ("in May 2023", "2023-05-01T00:00+09:00", "2023-06-01T00:00+09:00"),
        ("at 2023-05-07T10:30Z", "2023-05-07T19:30+09:00", "2023-05-07T19:31+09:00"),
        ("since 3 May", "2023-05-03T00:00+09:00", "2023-06-15T00:30+09:00"),
    ],
)
def test_days_begin_where_the_asker_is(question: str, start: str, end: str) -> None:
    tokyo = NOW.astimezone(timezone(timedelta(hours=9)))
    (period,) = periods(question, tokyo)
    assert (period.start, period.end) == (datetime.fromisoformat(start), datetime.fromisoformat(end))
    assert period.start.utcoffset() == period.end.utcoffset() == timedelta(hours=9)


@pytest.mark.parametrize("hours", [-12, 0, 14])
def test_open_bounds_can_be_converted_to_any_zone(hours: int) -> None:
    there = NOW.astimezone(timezone(timedelta(hours=hours)))
    for period in periods("before 2020 or after 2021", there):
        for zone in (-23, 0, 23):
            assert period.start.astimezone(timezone(timedelta(hours=zone))) == period.start
            assert period.end.astimezone(timezone(timedelta(hours=zone))) == period.end


@pytest.mark.parametrize("edge", ["0001-01-01", "0001-12-31T23:00", "9999-01-01", "9999-12-31T23:59"])
@pytest.mark.parametrize("hours", [-12, 0, 14])
def test_nothing_raises_at_the_ends_of_the_calendar(edge: str, hours: int) -> None:
    now = moment(edge).replace(tzinfo=timezone(timedelta(hours=hours)))
    for said, _, _ in SAID:
        for asked in (said, f"the weekend after {said}", f"from {said} to 5 May", f"first week of {said}"):
            assert all(period.start < period.end for period in periods(asked, now))


HOSTILE = [
    " ",
    "7",
    "a ",
    "may ",
    "May 7 ",
    "in 2019 ",
    "the ",
    "early ",
    "since ",
    "Tuesday before ",
    "the week before ",
    "from 2019 to ",
    "2019-",
    "1.",
    "1/",
    "three days ",
    "31 February ",
    "last ",
    "between 3 and ",
    "the first week of ",
    "\t\n ",
    "2023-05-07T10:30:",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_questions_take_linear_time(piece: str) -> None:
    assert growth(lambda question: periods(question, NOW), (piece * 20_000)[:20_000]) < 10


ODD = {"31", "0", "00", "9999", "2100", "of", "-", "–", "ſun", "frıday", "on ſaturday", "in auguſt", "٣ May"}
WORDS = sorted({word for row in SAID for word in row[0].split()} | ODD)
ASKED = st.one_of(st.text(), st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))
ANY_TIME = st.datetimes(timezones=st.integers(-23, 23).map(lambda hours: timezone(timedelta(hours=hours))))


@given(ASKED, ANY_TIME)
def test_whatever_is_asked_whenever_the_answer_is_well_formed(question: str, now: datetime) -> None:
    found = periods(question, now)
    assert found == periods(question, now)
    assert len(found) <= 8
    at = 0
    for period in found:
        assert isinstance(period, Period)
        assert period.start < period.end
        assert period.start.tzinfo is now.tzinfo and period.end.tzinfo is now.tzinfo
        at = question.index(period.text, at) + len(period.text)  # in order, without overlap


@given(st.dates(date(1900, 1, 1), date(2100, 12, 31)), ANY_TIME)
def test_every_way_to_write_a_date_names_that_day(day: date, now: datetime) -> None:
    for form in ("%Y-%m-%d", "%d %B %Y", "%B %d, %Y", "%m/%d/%Y", "%d.%m.%Y", "%dth of %b %Y"):
        (period,) = periods(f"What happened on {day:{form}}?", now)
        assert (period.start.date(), period.end - period.start) == (day, timedelta(days=1))
