"""The periods that a turn names, as of when it was said. A question looks back; a statement may look ahead, too."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from agent_memory.core.recall.dates import COUNTS, STEPS, Period, periods, shifted
from agent_memory.core.upkeep.extract.values import Dated

_AHEAD = re.compile(
    r"\bin (?P<count>\d{1,3}|a|an|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) "
    r"(?P<unit>day|week|month|year)s?\b(?! of\b)",
    re.I,
)
_COMING = re.compile(r"\b(?:is|are|am|will|ends?|expires?|starts?|begins?|due|getting|leaves?|opens?|closes?)\b", re.I)
_YEAR = re.compile(r"\d{4}")
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b", re.I)
SINCE = re.compile(r"^since\b", re.I)
DAY = timedelta(days=1)


def dates(said: str, at: datetime) -> list[Dated]:
    """Each period that a sentence names."""
    found = [_ahead(one, at) for one in _AHEAD.finditer(said)]
    for period in periods(said, at):
        coming = _coming(said, period, at)
        found.append(Dated(coming.start, coming.end, coming.text))
    return found


def since(said: str, at: datetime) -> datetime | None:
    """From when on holds what a sentence claims: the beginning of the past period that it names."""
    past = [one for one in dates(said, at) if one.first.year > 1 and one.first <= at]
    return past[0].first if len(past) == 1 else None


def _ahead(found: re.Match[str], at: datetime) -> Dated:
    word = found["count"].lower()
    number = int(word) if word.isdigit() else COUNTS[word][0]
    first = shifted(at, STEPS[found["unit"].lower()], number).replace(hour=0, minute=0, second=0, microsecond=0)
    return Dated(first, first + DAY, found[0])


def _coming(said: str, period: Period, at: datetime) -> Period:
    """ "The exam is on 9 June" means the next one, where the words do not tell which."""
    if period.end > at or not _COMING.search(said) or _YEAR.search(period.text) or SINCE.match(period.text):
        return period
    if re.search(r"\b(?:last|ago|yesterday|past|previous|recently|lately)\b", period.text, re.I):
        return period
    later = at + (7 if _WEEKDAY.search(period.text) else 366) * DAY
    ahead = [one for one in periods(said, later) if one.text == period.text]
    return ahead[0] if ahead and ahead[0].start > at else period
