"""Moments as people type them: ISO 8601, or `2 days ago`. A moment without a zone is taken as local time."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
else:
    ParamType = click.ParamType  # generic since click 8.4 only

FORMS = "ISO 8601 (local time if it names no zone), or words: now, yesterday, last week, 2 days ago"

_SPAN = re.compile(r"(?:(in) )?(\d{1,6}|an?) ?(minute|min|m|hour|h|day|d|week|w)s?(?: (ago))?")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_WORDS = {"now": 0, "yesterday": -1, "tomorrow": 1, "last week": -7, "a week ago": -7, "next week": 7}


def parse(text: str, now: datetime) -> datetime:
    """An aware moment; `ValueError` for anything else. `yesterday` is this time of yesterday."""
    said = " ".join(text.casefold().split())
    if said == "today":
        return now.replace(hour=0, minute=0, second=0, microsecond=0)
    if said in _WORDS:
        return now + timedelta(days=_WORDS[said])
    if (span := _SPAN.fullmatch(said)) and bool(span[1]) != bool(span[4]):
        seconds = _SECONDS[span[3][0]] * (1 if span[2].startswith("a") else int(span[2]))
        return now + timedelta(seconds=seconds if span[1] else -seconds)
    moment = datetime.fromisoformat(text.strip())
    return moment if moment.tzinfo else moment.astimezone()


class MomentType(ParamType):
    name = "moment"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, datetime):
            return value
        try:
            return parse(str(value), datetime.now().astimezone())
        except (ValueError, OverflowError, OSError):
            self.fail(f"{value!r} is no moment: use {FORMS}", param, ctx)
