"""Questions about the past: when they ask of, and which versions held then.

A memory changes, and a question may be about what it was: "who was on call on Tuesday?", "where was our office before
the move?", "where did we deploy when we still used Jenkins?". Three things tell so:

- A period that has begun ("on Tuesday", "in March"), in a question that is not about the present ("who *is* on call
  on Tuesday?" means the next one).
- Words for what is over ("used to", "previously", "back then").
- A clause about something that is a memory itself ("before the move"): that is looked up for its time, and the rest of
  the question is asked as of then. Where it names what a version says ("before Bo"), that version's own beginning or
  end is the time (`values.py`).

Each becomes a `Window`. Versions that ended and held in one are candidates beside those that hold now; of one record,
the version that held then takes the place of the best, and the others follow it. A record without such a version
is ranked as ever, and so is everything where no version has ended.
"""

from __future__ import annotations

import re
from datetime import UTC
from typing import TYPE_CHECKING, Literal, NamedTuple

from agent_memory.core.recall.dates import FIRST, LAST, Period, periods
from agent_memory.core.recall.tense import ASKS, ASKS_WHEN, CLAUSE, names_something_past, over, tense
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.record import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from agent_memory.core.recall.score import Numbers
    from agent_memory.ports.index import Pool

Side = Literal["during", "before", "after", "over"]

BEGINNING = to_micros(FIRST.replace(tzinfo=UTC))
DAY = 86_400_000_000
BEHIND = 0.02  # how far a version stands below the one of the same record that held rather than it
LONGEST_STORY = 2000  # characters of a memory that are looked at for its date

_FIRST_OF_ALL = re.compile(r"\boriginally\b|\binitially\b|\bat first\b|\bin the beginning\b", re.IGNORECASE)
_UNTIL = re.compile(r"^(?:until|till)\b", re.IGNORECASE)
_STILL = re.compile(r"\bstill\s+", re.IGNORECASE)
_SIDES: dict[str, Side] = {"before": "before", "prior to": "before", "until": "before", "till": "before"}
_SIDES |= {"after": "after", "following": "after"}


class Window(NamedTuple):
    """A time that a question asks of, in microseconds, half open, and which of the versions that held in it is meant:
    the one that held longest (`during`), the last (`before`), the first (`after`), or the last that is `over`.
    `words` say it in the question; `apart`: they say when, and are not part of what is looked for. `named`: they alone
    say what is looked for, so that the version which has them is looked at, too, whenever it held."""

    start: int
    end: int
    side: Side
    words: str
    apart: bool = False
    named: bool = False

    def seen(self, now: int) -> tuple[int, int]:
        """Versions that held at some moment of this are candidates."""
        return (BEGINNING, now) if self.named else (self.start, self.end)


class Clause(NamedTuple):
    """Words that name a time by what happened then. `still`: it is over. `sure`: a verb says that the question is about
    the past."""

    words: str
    said: str
    side: Side
    still: bool
    sure: bool = True


def ever(now: int) -> Window:
    """All that is over."""
    return Window(BEGINNING, now, "over", "")


def windows(text: str, named: tuple[Period, ...], now: int) -> list[Window]:
    """The times in the past that the question names by themselves."""
    asked = tense(text)
    if asked == "present":
        return []
    found = [one for period in named if (one := _window(_reaching(period, now), now, asked == "past"))]
    if said := over(text):
        found.append(Window(BEGINNING, now, "over", said))
    elif first := _FIRST_OF_ALL.search(text):
        found.append(Window(BEGINNING, now, "after", first[0]))
    return found


def clause(text: str, named: tuple[Period, ...]) -> Clause | None:
    """What the question says about when, where that is no date."""
    asked = tense(text)
    sure = asked == "past" or names_something_past(text)
    if not sure and (asked == "present" or not ASKS.match(text)):
        return None
    for found in CLAUSE.finditer(text):
        words, side = found[0].strip(), " ".join(found["side"].lower().split())
        dated = any(period.text in words or words in period.text for period in named)
        if dated or ASKS_WHEN.match(words):
            continue
        said = _STILL.sub("", found["said"]).strip(" .")
        one = Clause(words, said, _SIDES.get(side, "during"), said != found["said"].strip(" ."), sure)
        return one if sure or one.side != "during" else None
    return None


def rest(text: str, found: tuple[Window, ...]) -> str:
    """The question without the words that only say when; all of it where nothing else would be left."""
    left = text
    for one in found:
        left = left.replace(one.words, " ", 1) if one.apart else left
    left = " ".join(left.split())
    return left if re.search(r"\w{3}", left) else text


def placed(clause: Clause, event: Record, now: int) -> Window:
    """When that was: as long as it held, on the day that its text names, or when it began. In which order things were
    told on one day says little: before it is before its day, and after it is after its day."""
    start, end = to_micros(event.valid_from), to_micros(event.valid_from) + 1
    if event.valid_to is not None and to_micros(event.valid_to) <= now:
        end = to_micros(event.valid_to)
    elif told := _told(event):
        start, end = told
    if clause.side == "before":
        return Window(BEGINNING, start - start % DAY, "before", clause.words, apart=True)
    if clause.side == "after":
        end = min(end - end % -DAY, now - 1)
        return Window(end, now, "after", clause.words, apart=True)
    return Window(start, end, "during", clause.words, apart=True)


def shares(pool: Pool, found: tuple[Window, ...], now: int) -> Numbers | None:
    """Of each candidate with a version that is over, how well it fits a window, 0 to 1; -1 for all other candidates,
    whose past is not known. None where nothing is over."""
    import numpy as np

    if not found or pool.valid_to is None or pool.records is None:
        return None
    over = pool.valid_to <= now
    if not over.any():
        return None
    fits = np.zeros(len(over))
    for one in found:
        fits = np.maximum(fits, _fit(one, pool.valid_from, np.minimum(pool.valid_to, now), over))
    return np.where(np.isin(pool.records, pool.records[over]), fits, -1.0)


def preferred(pool: Pool, share: Numbers, scores: Numbers) -> Numbers:
    """What is added to each, so that of one record the version that held then has the best score of them all, and the
    others stand below it."""
    import numpy as np

    assert pool.records is not None
    added = np.zeros(len(scores))
    rows = np.flatnonzero(share >= 0)
    rows = rows[np.lexsort((-pool.handles[rows], -scores[rows], -share[rows], pool.records[rows]))]
    records = pool.records[rows]
    starts = np.flatnonzero(np.append(True, records[1:] != records[:-1]))
    sizes = np.diff(starts, append=len(rows))
    best = np.repeat(np.maximum.reduceat(scores[rows], starts), sizes)
    place = np.arange(len(rows)) - np.repeat(starts, sizes)
    held = np.where(place == 0, best, np.minimum(scores[rows], best - BEHIND * place))
    added[rows] = held - scores[rows]
    return added


def _fit(window: Window, begins: NDArray[np.int64], ends: NDArray[np.int64], over: NDArray[np.bool_]) -> Numbers:
    import numpy as np

    start, end = np.maximum(begins, window.start), np.minimum(ends, window.end)
    if window.side == "during":
        fit = (end - start) / (window.end - window.start)
    else:
        far = start - window.start if window.side == "after" else window.end - end
        fit = 1 / (1 + far / DAY)
    held = (start < end) & (over | (window.side != "over"))
    fits: Numbers = np.where(held, fit, 0.0)
    return fits


def _reaching(period: Period, now: int) -> Period:
    """What was so until a day was over when the day began, though what is dated until a day may be of that day."""
    if not _UNTIL.match(period.text):
        return period
    before = periods(_UNTIL.sub("before", period.text), from_micros(now))
    return period._replace(end=before[0].end) if before else period


def _window(period: Period, now: int, past: bool) -> Window | None:
    """What reaches into the present is past only where the question says so."""
    start, end = to_micros(period.start), to_micros(period.end)
    if start >= now or (end >= now and not (past and period.exact)):
        return None
    zone = period.start.tzinfo
    side: Side = "during"
    if period.start == FIRST.replace(tzinfo=zone):
        side = "before"
    elif period.end == LAST.replace(tzinfo=zone):
        side = "after"
    return Window(start, min(end, now), side, period.text)


def _told(event: Record) -> tuple[int, int] | None:
    """The first day or longer time that the text names, if it had begun when this was true."""
    for period in periods(event.text[:LONGEST_STORY], event.valid_from):
        open_ended = FIRST.year == period.start.year or LAST.year == period.end.year
        if period.exact and not open_ended and period.start <= event.valid_from:
            return to_micros(period.start), to_micros(period.end)
    return None
