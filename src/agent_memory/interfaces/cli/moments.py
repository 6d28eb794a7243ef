"""Moments as people type them: ISO 8601, or `2 days ago`. A moment without a zone is taken as local time.

A day is no moment. Where a beginning is asked for (`--after`, `--valid-from`), a day is its start. Where a read looks
back (`--valid-at`, `--as-of`), it is its end: what was true of that day in the end. The rest of today has not happened:
today is now.
"""

from __future__ import annotations

import calendar
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # generic since click 8.4 only

FORMS = (
    "ISO 8601 (local time if it names no zone), a month (2026-11), or words: now, noon, yesterday, last week, "
    "last monday, 2 days ago, 2d (the same), 1 month ago, in 3 hours"
)

_SPAN = re.compile(
    r"(?:(in) )?(\d{1,6}|an?) ?(minute|min|month|mo|m|hour|h|day|d|week|w|year|y)s?(?: (ago))?",
)
_SHORT = re.compile(r"(\d{1,6})(min|mo|m|h|d|w|y)")  # 2d is 2 days ago
_DAY = re.compile(r"(last|next) (mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?")
_MONTH = re.compile(r"\d{4}-\d\d")
_DATE = re.compile(r"\d{4}-?\d\d-?\d\d")
_WHOLE = {"today": 0, "yesterday": -1, "tomorrow": 1}
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_MONTHS = {"mo": 1, "y": 12}
_WORDS = {"now": 0, "yesterday": -1, "tomorrow": 1, "last week": -7, "next week": 7}
_HOURS = {"today": 0, "midnight": 0, "noon": 12}
_FAR = {"last month": -1, "next month": 1, "last year": -12, "next year": 12}
_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def parse(text: str, now: datetime) -> datetime:
    """An aware moment; `ValueError` for anything else. `yesterday` is this time of yesterday, a named day its start."""
    said = _folded(text)
    if said in _WORDS:
        return now + timedelta(days=_WORDS[said])
    if said in _HOURS:
        return _wall(_at(now, _HOURS[said]), now)
    if said in _FAR:
        return _months(now, _FAR[said])
    if short := _SHORT.fullmatch(said):
        return _moved(now, -int(short[1]), short[2])
    if (span := _SPAN.fullmatch(said)) and bool(span[1]) != bool(span[4]):
        number = 1 if span[2].startswith("a") else int(span[2])
        return _moved(now, number if span[1] else -number, span[3])
    if day := _DAY.fullmatch(said):
        days = (_WEEK.index(day[2][:3]) - now.weekday()) % 7
        days = (days or 7) if day[1] == "next" else days - 7
        return _wall(_at(now, 0) + timedelta(days=days), now)
    moment = datetime.fromisoformat(f"{said}-01" if _MONTH.fullmatch(said) else text.strip())
    return moment if moment.tzinfo else moment.astimezone()


def at_its_end(text: str, now: datetime) -> datetime:
    """The same, but a day or a month is its last moment, or `now` while it lasts."""
    said = _folded(text)
    if said in _WHOLE:
        first = _wall(_at(now, 0) + timedelta(days=_WHOLE[said]), now)
        following = _wall(_at(now, 0) + timedelta(days=_WHOLE[said] + 1), now)
    elif _MONTH.fullmatch(said):
        first = parse(text, now)
        following = _wall(_months(first, 1), now)
    elif _DAY.fullmatch(said) or _DATE.fullmatch(said):
        first = parse(text, now)
        following = _wall(first + timedelta(days=1), now)
    else:
        return parse(text, now)
    return now if first <= now < following else following - timedelta.resolution


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


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


class MomentType(ParamType):
    """`ends`: a day is its end."""

    name = "moment"

    def __init__(self, *, ends: bool = False) -> None:
        self._read = at_its_end if ends else parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, datetime):
            return value
        try:
            return self._read(str(value), datetime.now().astimezone())
        except (ValueError, OverflowError, OSError):
            self.fail(f"{value!r} is not a moment: use {FORMS}", param, ctx)
