"""The periods a question names: "7 May 2023", "last summer", "since March", "the week before 9 June".

Read in three steps, so that phrases compose without a grammar:

- `NAMES` find the plain names of time ("May 2023", "yesterday"); where they overlap, the longest wins. A name that may
  be an ordinary word ("may", 2019) counts only after its cue ("in"), or when a part, bound or range takes it.
- `PARTS` read the words before a name and choose a part or neighbour of it ("late", "first week of", "the day before").
- `BOUND` opens it on one side ("since", "until"); two names with "to" or "and" between them make a range.

Promises: no string raises; time is linear in the question (every repetition in a pattern is bounded); a date that does
not exist gives nothing, nor does any piece of it. A name without a year is the most recent one that has begun.
Seasons are the northern, meteorological ones; weeks start on Monday.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple

MOST_PERIODS = 8
MOST_NAMES = 500  # that are looked at; a long text may be full of "may" and "now"
YEARS = range(1900, 2101)
FIRST, LAST = datetime(1, 1, 3), datetime(9999, 12, 29)  # noqa: DTZ001 - open ends that can be converted to any zone
MOST_PARTS = 3  # "the week before the end of last May" has two
LOOK_BACK = 48  # characters before a name in which a part, bound or cue is sought


class Period(NamedTuple):
    """`exact` is false where the bounds are our reading of vague words ("recently", "early June", "last summer")."""

    start: datetime  # inclusive
    end: datetime  # exclusive
    text: str
    exact: bool


class DateSpan(NamedTuple):
    """`cycle`: after how many days the name comes round again, 0 where the words fix which one is meant."""

    start: datetime
    end: datetime
    exact: bool = True
    cycle: int = 0


Step = tuple[int, timedelta]  # months, and the rest
Match = re.Match[str]
Named = tuple[Match, "Name"]
DAY, NONE = timedelta(days=1), timedelta()
STEPS: dict[str, Step] = {"minute": (0, DAY / 1440), "hour": (0, DAY / 24), "day": (0, DAY), "week": (0, 7 * DAY)}
STEPS |= {"month": (1, NONE), "quarter": (3, NONE), "half": (6, NONE), "year": (12, NONE)}
# "Two weeks ago" is half a unit around that day; five minutes around a moment named in minutes.
REACH = {"minute": DAY / 288, "hour": DAY / 48, "day": NONE, "week": 3 * DAY, "month": 15 * DAY, "quarter": 45 * DAY}
COUNTS = {w: (n, n) for n, w in enumerate("one two three four five six seven eight nine ten eleven twelve".split(), 1)}
COUNTS |= {"a": (1, 1), "an": (1, 1), "couple": (2, 3), "few": (2, 5), "several": (3, 8)}
ORDINALS = {"first": 0, "1st": 0, "second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3, "last": -1}
THIRDS = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
WEEKDAYS = {name: n for n, name in enumerate("mon tue wed thu fri sat sun".split())}
MONTHS = {name: n for n, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}
MONTHS |= {text: n for n in range(1, 13) for text in (str(n), f"{n:02}")}
QUARTERS = {"q1": 1, "q2": 4, "q3": 7, "q4": 10, "spr": 3, "sum": 6, "aut": 9, "fal": 9, "win": 12}
HOURS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}

# Arithmetic. What falls off the calendar raises ValueError or OverflowError, which `_placed` turns into nothing.


def shifted(moment: datetime, step: Step, times: int = 1) -> datetime:
    months, rest = step
    year, month = divmod(moment.year * 12 + moment.month - 1 + months * times, 12)
    day = min(moment.day, monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day) + rest * times


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _date(now: datetime, year: int | str, month: int = 1, day: int = 1) -> datetime:
    if int(year) not in YEARS:
        raise ValueError(year)
    return datetime(int(year), month, day, tzinfo=now.tzinfo)


def _one(start: datetime, unit: str) -> DateSpan:
    return DateSpan(start, shifted(start, STEPS[unit]))


def _recurring(word: str, now: datetime) -> list[DateSpan]:
    """Seven of the weeks, Tuesdays, Mays or summers around now, in order; the middle one is this week's or year's."""
    today, key = _midnight(now), word.lower()
    monday, january = today - today.weekday() * DAY, today.replace(month=1, day=1)
    exact, step, length = True, STEPS["week"], STEPS["day"]
    if key == "week":
        origin, length = monday, step
    elif key == "weekend":
        origin, length = monday + 5 * DAY, (0, 2 * DAY)
    elif key in ("month", "quarter", "year"):
        step = length = STEPS[key]
        origin = shifted(january, step, (today.month - 1) // step[0])
    elif key[:3] in WEEKDAYS:
        origin = monday + WEEKDAYS[key[:3]] * DAY
    else:
        exact, step = key[:3] in MONTHS, STEPS["year"]
        origin, length = january.replace(month=(MONTHS | QUARTERS)[key[:3]]), STEPS["month" if exact else "quarter"]
    starts = [shifted(origin, step, times) for times in range(-3, 4)]
    return [DateSpan(start, shifted(start, length), exact) for start in starts]


def _chosen(which: str, word: str, now: datetime) -> DateSpan:
    around = _recurring(word, now)
    if which in ("last", "past", "previous"):
        return [span for span in around if span.end <= _midnight(now)][-1]
    if which in ("next", "coming", "upcoming"):
        return next(span for span in around if span.start > now)
    if which in ("this", "the"):
        return next((span for span in around if span.start <= now < span.end), around[3])
    latest = [span for span in around if span.start <= now][-1]
    return latest._replace(cycle=7 if word.lower()[:3] in WEEKDAYS else 365)


def _counted(words: str) -> tuple[int, int]:
    word = next((word for word in words.lower().split() if word not in ("a", "of")), "a")
    return (int(word), int(word)) if word.isdigit() else COUNTS[word]


def _away(moment: datetime, m: Match, sign: int) -> DateSpan:
    """So many units before or after a moment: as wide as one unit, and "a few" as wide as what it may mean."""
    unit, (low, high) = m["unit"].lower(), _counted(m["count"])
    first, last = sorted(shifted(moment, STEPS[unit], sign * n) for n in (low, high))
    reach = REACH.get(unit, 182 * DAY)
    if unit in ("minute", "hour"):
        return DateSpan(first - reach, last + reach, exact=False)
    return DateSpan(_midnight(first) - reach, _midnight(last) + DAY + reach, exact=unit == "day" and low == high)


def _moment(m: Match, now: datetime) -> DateSpan:
    named = datetime.fromisoformat(m[0].upper()).replace(microsecond=0)
    _date(now, named.year)
    start = named.astimezone(now.tzinfo) if named.tzinfo else named.replace(tzinfo=now.tzinfo)
    return DateSpan(start, start + timedelta(seconds=1 if m["second"] else 60))


def _day(m: Match, now: datetime) -> DateSpan:
    """A day of a month or a run of days; without a year the latest begun (29 February may be 8 years back)."""
    month, day = MONTHS[m["month"][:3].lower()], int(m["day"])
    last = int(m.groupdict().get("last") or day)
    if m["year"]:
        return DateSpan(_date(now, m["year"], month, day), _date(now, m["year"], month, last) + DAY)
    for year in range(now.year, now.year - 9, -1):
        if max(day, last) <= monthrange(year, month)[1] and (start := _midnight(now).replace(year, month, day)) <= now:
            return DateSpan(start, start.replace(day=last) + DAY, cycle=365)
    raise ValueError(m[0])


def _dated(m: Match, now: datetime) -> DateSpan:
    """A year, or the month, quarter or season of one."""
    key = m.groupdict().get("month", "")[:3].lower()
    unit = "month" if key in MONTHS else "quarter" if key else "year"
    start = _date(now, m["year"], (MONTHS | QUARTERS)[key] if key else 1)
    return _one(start, unit)._replace(exact=unit != "quarter" or key[0] == "q")


def _today(m: Match, now: datetime) -> DateSpan:
    word, part = m["day"].lower(), (m["part"] or "").lower()
    start = _midnight(now) + {"yesterday": -1, "last": -1, "tomorrow": 1}.get(word, 0) * DAY
    first, last = HOURS["night"] if word == "tonight" else HOURS.get(part, (0, 24))
    return DateSpan(start + first * DAY / 24, start + last * DAY / 24, exact=last - first == 24)


def _turn(m: Match, now: datetime) -> DateSpan:
    """Last, this or next Tuesday; with no such word, the latest that has begun."""
    return _chosen(m.groupdict().get("which", "latest").lower().split()[-1], m["thing"], now)


def _rolling(m: Match, now: datetime) -> DateSpan:
    unit, ahead = m["unit"].lower(), m["which"].lower() in ("next", "coming")
    low, high = _counted(m.groupdict().get("count") or "a")
    far = shifted(now, STEPS[unit], high if ahead else -high)
    if unit not in ("minute", "hour"):
        far = _midnight(far) + (DAY if ahead else NONE)
    return DateSpan(min(now, far), max(now, far), exact=low == high)


def _third(m: Match, span: DateSpan) -> DateSpan:
    if m.groupdict().get("before"):  # "before the end of May" takes all of May
        return span._replace(start=FIRST.replace(tzinfo=span.start.tzinfo))
    third, days = THIRDS[m["third"].lower()], (span.end - span.start).days
    months = (span.end.year - span.start.year) * 12 + span.end.month - span.start.month
    start, end = span.start, span.end
    if months >= 3:
        start, end = (shifted(span.start, STEPS["month"], months * n // 3) for n in (third, third + 1))
    elif days >= 3:
        start, end = (span.start + days * n // 3 * DAY for n in (third, third + 1))
    return span._replace(start=start, end=end, exact=False)


def _nth(m: Match, span: DateSpan) -> DateSpan:
    """The first week, second Tuesday or last day of a longer period; nothing where that is not inside it."""
    n, thing = ORDINALS[m["nth"].lower()], m["thing"].lower()
    if thing in STEPS:
        step = STEPS[thing]
        if thing == "half" and span.end - span.start < 360 * DAY:  # of a month or a quarter
            step = (0, (span.end - span.start) / 2)
        start = shifted(span.end, step, -1) if n < 0 else shifted(span.start, step, n)
        end = shifted(start, step)
    else:
        start, end, *_ = next(day for day in _recurring(thing, span.start) if day.start >= span.start)
        weeks = ((span.end - start).days - 1) // 7 if n < 0 else n
        start, end = start + 7 * weeks * DAY, end + 7 * weeks * DAY
    if not span.start <= start < span.end:
        raise ValueError(m[0])
    return span._replace(start=start, end=end)


def _beside(m: Match, span: DateSpan) -> DateSpan:
    """The week of a date, the weekend after it, two days before it."""
    where, thing = m["where"].lower(), m.groupdict().get("thing", "").lower()
    edge, sign = (span.start, -1) if where == "before" else (span.end, 1)
    if where == "of":
        start, end, exact, _ = _chosen("this", thing, span.start)
    elif not thing:
        start, end, exact, _ = _away(span.start, m, sign)
    elif thing in STEPS:
        (start, end), exact = sorted((edge, shifted(edge, STEPS[thing], sign))), True
    else:
        near = _recurring(thing, edge)[::sign]
        start, end, exact, _ = next(day for day in near if (day.start >= edge if sign > 0 else day.end <= edge))
    return span._replace(start=start, end=end, exact=span.exact and exact)


def _bound(m: Match, span: DateSpan, now: datetime) -> DateSpan:
    word, zone = m["bound"].lower(), now.tzinfo
    if word == "since":
        return span._replace(end=now)
    if word == "after":
        return span._replace(start=span.end, end=LAST.replace(tzinfo=zone))
    before = word == "before" or word.startswith("prior")
    return span._replace(start=FIRST.replace(tzinfo=zone), end=span.start if before else span.end)


# The tables. In a pattern, a space stands for one to three blanks.

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may(?! (?:be|have|not|need|also|only|still|never|well)\b)"
    r"|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_WEEKDAY = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?-i:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun))\b"
_SEASON = r"(?:spring|summer|autumn|fall|winter)\b"
_LONG = r"(?:weekend|week|month|quarter|year)"
_THING = rf"(?P<thing>{_LONG}\b|{_WEEKDAY}|{_SEASON}|{_MONTH})"
_COUNT = rf"(?P<count>\d{{1,4}}|(?:a )?(?:{'|'.join(COUNTS)})(?: of)?)"
_UNIT = r"(?P<unit>minute|hour|day|week|month|quarter|year)"
_IN_YEAR = r"(?:(?:,? |,|-)(?:of )?(?P<year>\d{4}))"
_NTH, _SIDE = "|".join(ORDINALS), r"(?P<where>before|after|following)"
_IN_MONTH, _ND = rf"(?P<month>{_MONTH})\.?", r"(?:st|nd|rd|th)?"
_RUN = rf"(?P<day>\d\d?){_ND}(?: (?:to|and|until|till|through) | ?[-–—] ?)(?:the )?(?P<last>\d\d?){_ND}"
_FROM = r"(?:\b(?:between|from) (?:the )?)?"
_ON = rf"(?:\b{_WEEKDAY},? (?:the )?|\bthe )?"
_OPEN, _SHUT = r"(?<![\w./:-])", r"(?![\w-]|[.:/]\w)"  # around numbers: no versions, addresses or paths
_LEFT, _RIGHT = r"(?<![\w./:])", r"(?![\w%]|[.,:/]\d|\s'\d)"
_WHICH = r"(?P<which>(?:this )?(?:past|coming)|last|previous|this|upcoming|next)"
_IN = rf"(?:in|of|during|throughout|from|around|year|(?:in|during) (?:\d{{4}}|{_MONTH}) (?:and|or)) (?:the )?"
_OVER, _NEVER = r"(?:in|over|during|within) the ", r"(?!)"


class Name(NamedTuple):
    pattern: str
    resolve: Callable[[Match, datetime], DateSpan]
    cue: str | None = None  # the words that must stand before it


_TIME = r"\d\d:\d\d(?P<second>:\d\d(?:\.\d{1,6})?)?(?:z|[+-]\d\d:\d\d)?"
NAMES = [
    Name(rf"{_OPEN}\d{{4}}-\d\d-\d\d[t\s]{_TIME}{_SHUT}", _moment),
    Name(rf"{_OPEN}(?P<year>\d{{4}})(?P<mark>[-/])(?P<month>\d\d?)(?P=mark)(?P<day>\d\d?){_SHUT}", _day),
    Name(rf"{_OPEN}(?P<year>\d{{4}})-(?P<month>\d\d){_SHUT}", _dated),
    Name(rf"{_OPEN}(?P<month>0?\d|1[0-2])/(?P<day>\d\d?)/(?P<year>\d{{4}}){_SHUT}", _day),
    Name(rf"{_OPEN}(?P<day>1[3-9]|[2-9]\d)/(?P<month>\d\d?)/(?P<year>\d{{4}}){_SHUT}", _day),
    Name(rf"(?<!version\s){_OPEN}(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>\d{{4}}){_SHUT}", _day),
    Name(rf"{_FROM}{_LEFT}{_RUN}(?: |-)(?:of )?{_IN_MONTH}{_IN_YEAR}?{_RIGHT}", _day),
    Name(rf"{_FROM}\b{_IN_MONTH} {_RUN}{_IN_YEAR}?{_RIGHT}", _day),
    Name(rf"{_ON}{_LEFT}(?P<day>\d\d?){_ND}(?: |-)(?:of )?{_IN_MONTH}{_IN_YEAR}?{_RIGHT}", _day),
    Name(rf"{_ON}\b{_IN_MONTH} (?:the )?(?P<day>\d\d?(?=[snrt])|[0-3]?\d){_ND}{_IN_YEAR}?{_RIGHT}", _day),
    Name(rf"\b{_IN_MONTH}{_IN_YEAR}{_RIGHT}", _dated),
    Name(rf"\b(?P<thing>{_MONTH})(?!-(?!{_MONTH})\w|\s'\d)", _turn, _IN),
    Name(rf"{_LEFT}(?P<year>19[7-9]\d|20\d\d|2100)(?!-(?!(?:19|20)\d\d\b)\w){_RIGHT}", _dated, _IN),
    Name(rf"\b(?P<month>{_SEASON}|q[1-4]){_IN_YEAR}(?:[-/]\d\d(?:\d\d)?)?{_RIGHT}", _dated),
    Name(rf"\b(?P<thing>{_SEASON})", _turn, _OVER),
    Name(r"\b(?P<day>today|tonight|yesterday|tomorrow)(?: (?P<part>morning|afternoon|evening|night))?\b", _today),
    Name(r"(?<!the\s)\b(?P<day>this|last) (?P<part>morning|afternoon|evening|night)\b", _today),
    Name(rf"\b(?:{_OVER})?(?P<which>last|past|next|coming) {_COUNT} {_UNIT}s?\b(?! of\b)", _rolling),
    Name(rf"\b(?P<which>(?:this )?past) {_UNIT}\b", _rolling),
    Name(rf"\b{_OVER}(?P<which>last) {_UNIT}\b", _rolling),
    Name(rf"\b(?!this (?-i:may|march)\b){_WHICH} {_THING}", _turn),
    Name(rf"\b(?:the )?{_THING} before (?P<which>last)\b", lambda m, now: _turn(m, _turn(m, now).start)),
    Name(rf"\b(?P<thing>{_WEEKDAY})", _turn, r"(?:on|from) (?:the )?"),
    Name(r"\b(?P<thing>weekend)\b", _turn, r"(?:on|over|at|during) the "),
    Name(r"\b(?P<which>the) (?P<thing>week|month|quarter|year)\b(?! \d)", _turn, _NEVER),
    Name(rf"(?<![\w.])(?<!half\s){_COUNT} {_UNIT}s? (?:ago|back)\b", lambda m, now: _away(now, m, -1)),
    Name(r"\b(?:recently|lately)\b", lambda _, now: DateSpan(_midnight(now) - 30 * DAY, now, exact=False)),
    Name(r"\b(?<!by\s)(?<!after\s)now\b", lambda _, now: DateSpan(now - timedelta.resolution, now), _NEVER),
]
PARTS: list[tuple[str, Callable[[Match, DateSpan], DateSpan]]] = [
    (r"(?P<third>early|mid|late)(?: (?:in )?|-)(?:the )?", _third),
    (r"(?P<before>before (?=(?:the )?end))?(?:the )?(?P<third>beginning|start|middle|end) of ", _third),
    (rf"(?:the )?(?P<nth>{_NTH}) (?P<thing>(?:day|{_LONG}|half)\b|{_WEEKDAY}) (?:of|in) ", _nth),
    (rf"{_COUNT} {_UNIT}s? {_SIDE} ", _beside),
    (rf"(?:the )?(?P<thing>(?:day|{_LONG})\b|{_WEEKDAY}) {_SIDE} ", _beside),
    (rf"(?:the )?(?P<thing>{_LONG}) (?P<where>of) ", _beside),
]
BOUND = r"(?<!or\s)(?P<bound>since|after|before|prior to|until|till|up to|by) (?:the )?(?:year )?"
RANGE = r"(?P<word>between|from) (?:the )?"
JOIN = r" ?(?P<word>to|and|until|till|through|[-–—]) ?(?:the )?"


class DateMention(NamedTuple):
    begin: int
    end: int
    span: DateSpan
    sure: bool  # false while it may be an ordinary word


def periods(question: str, now: datetime) -> list[Period]:
    """What the question names, in its order, at most 8; `now` is aware, and days begin in its zone."""
    named, at = _named(question), 0
    found: list[tuple[int, Period]] = []
    while at < len(named) and len(found) < MOST_PERIODS:
        place, at = _placed(question, named[at], now), at + 1
        if place and (joined := _joined(question, place, named[at - 1 : at + 1], now)):
            place, at = joined, at + 1
        if not place:
            continue
        begin, end, span, sure = place
        if bound := _words(BOUND, question, begin):
            begin, span, sure = bound.start(), _bound(bound, span, now), True
        if sure and span.start < span.end:
            while found and found[-1][0] > begin:  # "last week", now that it is "the last week of May"
                found.pop()
            found.append((end, Period(span.start, span.end, question[begin:end], span.exact)))
    return [period for _, period in found]


def _named(question: str) -> list[Named]:
    """The longest names that do not overlap, in the order of the question, and only the first of very many."""
    every = [(m, name) for name in NAMES for m in _compiled(name.pattern).finditer(question)]
    taken, kept = bytearray(len(question)), []
    for m, name in sorted(every, key=lambda one: one[0].start() - one[0].end()):
        if not any(taken[m.start() : m.end()]):
            taken[m.start() : m.end()] = b"x" * len(m[0])
            kept.append((m, name))
    return sorted(kept, key=lambda one: one[0].start())[:MOST_NAMES]


@cache  # compiled when first asked, so that the import stays fast
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", r"(?:\s{1,3})"), re.IGNORECASE)


def _words(pattern: str, question: str, begin: int) -> Match | None:
    return _compiled(rf"\b(?:{pattern})$").search(question, max(0, begin - LOOK_BACK), begin)


def _placed(question: str, named: Named, now: datetime) -> DateMention | None:
    """A name with the parts before it; nothing where it is not on the calendar."""
    found, name = named
    begin, sure = found.start(), name.cue is None or bool(_words(name.cue, question, found.start()))
    try:
        span = name.resolve(found, now)
        for _ in range(MOST_PARTS):
            if not (
                before := next(((m, part) for words, part in PARTS if (m := _words(words, question, begin))), None)
            ):
                break
            begin, span, sure = before[0].start(), before[1](before[0], span), True
    except (ValueError, OverflowError, LookupError, StopIteration):
        return None
    return DateMention(begin, found.end(), span, sure)


def _joined(question: str, one: DateMention, pair: list[Named], now: datetime) -> DateMention | None:
    """Two names as a range. The one without a year takes it from the other: "from March to May 2022"."""
    other = _placed(question, pair[-1], now) if _compiled(JOIN).match(question, one.end) else None
    join = other and _compiled(JOIN).fullmatch(question, one.end, max(one.end, other.begin))
    opener = _words(RANGE, question, one.begin)
    between = opener is not None and opener["word"].lower() == "between"
    if not other or not join or (join["word"].lower() == "and") != between or not (opener or one.sure or other.sure):
        return None
    if one.span.cycle:
        one = _placed(question, pair[0], other.span.start) or one
    elif other.span.cycle and one.span.start.year in YEARS:
        other = _placed(question, pair[1], one.span.start + other.span.cycle * DAY) or other
    span = DateSpan(one.span.start, other.span.end, one.span.exact and other.span.exact)
    return DateMention(opener.start() if opener else one.begin, other.end, span, True)
