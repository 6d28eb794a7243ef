"""Moments as people say them, the same in every door that takes words: ISO 8601, a day by its name, `2 days ago`. A
moment without a zone is taken as local time. What a question can name (`core/recall/dates.py`), can be said here, too.

A day is not a moment. What begins (`after`, `valid_from`) begins with the day. Where a read looks back (`valid_at`,
`as_of`), a day is its end: what was true of it in the end; while it lasts, that is now. What ends (`valid_to`,
`deadline`) ends with the day. "2 days ago" and "last week" are this time of that day.

A day or month without a year is the latest that has begun where something is read, the next to come where something
ends, and the nearest where something that is written begins (`valid_from`).
"""

from __future__ import annotations

import calendar
import re
from datetime import datetime, timedelta

FORMS = (
    "ISO 8601 (local time if it names no zone), a day (2026-11-10, 10 November 2026, tuesday, last monday, yesterday), "
    "a month (2026-11), or words: now, noon, last week, two weeks ago, 2d (2 days ago), in 3 hours"
)
LOOKING_BACK = frozenset({"valid_at", "as_of"})
ENDING = frozenset({"valid_to", "deadline"})
BEGINNING = "valid_from"

Span = tuple[datetime, datetime | None]
"""A moment, or a day or more: where it begins, and where the next one does."""

_NUMBERS = {word: number for number, word in enumerate("one two three four five six seven eight nine ten".split(), 1)}
_NUMBERS |= {"a": 1, "an": 1, "eleven": 11, "twelve": 12}
_SPAN = rf"(?:(in) )?(\d{{1,6}}|{'|'.join(_NUMBERS)}) ?(minute|min|month|mo|m|hour|h|day|d|week|w|year|y)s?(?: (ago))?"
_SHORT = r"(\d{1,6})(min|mo|m|h|d|w|y)"  # 2d is 2 days ago
_DAY = r"(?:(last|next|this) )?(mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
_MONTH = r"\d{4}-\d\d"
_DATE = r"\d{4}-?\d\d-?\d\d"
_EITHER = r"\b(0?[1-9]|1[0-2])/(0?[1-9]|1[0-2])/(\d{4})\b"
_YEARLY = (
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|spring|summer|autumn|fall|winter)\b"
)
_FIXED = (  # which year it is: "summer 2025", "last may", "the march before last"
    rf"\d{{4}}|\b(?:last|past|previous|this|next|coming|upcoming) {_YEARLY}|\bbefore last\b|\byear\b"
)
_LEAP_YEARS = 8  # at most so many years lie between one 29 February and the next
_LEADING = r"^(?:on|since|from|after|before|until|by|as of|at) (?:the )?"
_ALSO = {"this morning": "today", "tonight": "today", "last night": "yesterday", "the other day": "2 days ago"}
_ALSO |= {"past week": "last week", "past month": "last month", "recently": "last week"}
_WHOLE = {"today": 0, "yesterday": -1, "tomorrow": 1}
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_MONTHS = {"mo": 1, "y": 12}
_WORDS = {"now": 0, "last week": -7, "next week": 7}
_HOURS = {"midnight": 0, "noon": 12}
_FAR = {"last month": -1, "next month": 1, "last year": -12, "next year": 12}
_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


class Ambiguous(ValueError):
    """What is a day in two ways; the message says which."""


def moment(name: str, text: str, now: datetime, *, closing: bool = False) -> datetime:
    """What an argument of this name is taken for; `ValueError` for what is no time, `Ambiguous` for what may be two.
    `closing`: what is named here is still meant, to its last moment."""
    start, following = _span(name, text, now)
    if following is None:
        return start
    if closing:
        return following
    if name in LOOKING_BACK:
        return now if start <= now < following else following - timedelta.resolution
    return following - timedelta.resolution if name in ENDING else start


def _span(name: str, text: str, now: datetime) -> Span:
    said = re.sub(_LEADING, "", " ".join(text.casefold().split()))
    said = _ALSO.get(said, said)
    _check_one_reading(said)
    point = _point(said, now)
    if point is not None:
        return point, None
    if said in _WHOLE:
        return _day(now, _WHOLE[said], now)
    if day := re.fullmatch(_DAY, said):
        return _day(now, _days(day, now, name in ENDING), now)
    if re.fullmatch(_MONTH, said):
        first = _local(f"{said}-01")
        return first, _wall(_months(first, 1), now)
    if re.fullmatch(_DATE, said):
        return _day(_local(said), 0, now)
    try:
        return _local(said.upper()), None
    except ValueError:
        if (named := _named(said, now)) is None:
            raise
    yearly = re.search(_YEARLY, said) and not re.search(_FIXED, said)
    return _in_its_year(name, said, named, now) if yearly else named


def _check_one_reading(said: str) -> None:
    """10/11/2026 is in November to some and in October to others; 13/11/2026 and 11/11/2026 are one day to all."""
    found = re.search(_EITHER, said)
    if found is None or int(found[1]) == int(found[2]):
        return
    first, second, year = (int(number) for number in found.groups())
    one, other = (f"{day} {calendar.month_name[month]} {year}" for day, month in ((first, second), (second, first)))
    raise Ambiguous(
        f'{found[0]!r} could be {one} or {other}: write {year}-{second:02}-{first:02} or "{one}" for the former'
    )


def _in_its_year(name: str, said: str, latest: Span, now: datetime) -> Span:
    """Of what comes every year, the one that an argument of this name means; `latest` is the last that has begun."""
    if name not in ENDING and name != BEGINNING:
        return latest
    found = (_named(said, _months(now, 12 * years)) for years in range(_LEAP_YEARS + 1))
    coming = next((one for one in found if one and one[1] and one[1] > now), latest)
    return coming if name in ENDING else min(latest, coming, key=lambda one: abs(one[0] - now))


def _point(said: str, now: datetime) -> datetime | None:
    if said in _WORDS:
        return now + timedelta(days=_WORDS[said])
    if said in _HOURS:
        return _wall(_at(now, _HOURS[said]), now)
    if said in _FAR:
        return _months(now, _FAR[said])
    if short := re.fullmatch(_SHORT, said):
        return _moved(now, -int(short[1]), short[2])
    if (span := re.fullmatch(_SPAN, said)) and bool(span[1]) != bool(span[4]):
        number = _NUMBERS.get(span[2]) or int(span[2])
        return _moved(now, number if span[1] else -number, span[3])
    return None


def _days(found: re.Match[str], now: datetime, ahead: bool) -> int:
    """How far that weekday is. Without a word beside it, it is the latest that has begun, as in a question, or the
    next one that comes."""
    days = (_WEEK.index(found[2][:3]) - now.weekday()) % 7
    if found[1] == "last":
        return days - 7
    if found[1] == "this":
        return _WEEK.index(found[2][:3]) - now.weekday()
    if found[1] == "next" or ahead:
        return days or 7
    return days - 7 if days else 0


def _named(said: str, now: datetime) -> Span | None:
    """What a question could name: "10 November 2026", "summer 2025", "this week"."""
    from agent_memory.core.recall.dates import periods

    name = said if re.fullmatch(_SPAN, said) else said.removeprefix("in ")
    for text in (name, f"in {name}"):
        for one in periods(text, now):
            if one.text.casefold() == name and not name.isdigit():
                return _wall(one.start, now), _wall(one.end, now)
    return None


def _day(moment: datetime, days: int, now: datetime) -> Span:
    first = _at(moment, 0)
    return _wall(first + timedelta(days=days), now), _wall(first + timedelta(days=days + 1), now)


def _local(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.astimezone()


def _moved(now: datetime, number: int, unit: str) -> datetime:
    months = _MONTHS.get(unit[:2]) or _MONTHS.get(unit[0])
    return _months(now, number * months) if months else now + timedelta(seconds=number * _SECONDS[unit[0]])


def _months(now: datetime, number: int) -> datetime:
    """The same day and time of another month, or its last day."""
    year, month = divmod(now.year * 12 + now.month - 1 + number, 12)
    if not 1 <= year <= 9999:
        raise ValueError("there is no such year")
    day = min(now.day, calendar.monthrange(year, month + 1)[1])
    return _wall(now.replace(year=year, month=month + 1, day=day), now)


def _at(now: datetime, hour: int) -> datetime:
    return now.replace(hour=hour, minute=0, second=0, microsecond=0)


def _wall(moment: datetime, now: datetime) -> datetime:
    """What the clock on the wall says: summer time may have begun or ended between local `now` and the moment."""
    local = now.utcoffset() == now.astimezone().utcoffset()
    return moment.replace(tzinfo=None).astimezone() if local else moment
