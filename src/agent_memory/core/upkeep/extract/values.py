"""What is read, and what is found in it. Offsets are characters of the whole turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

EntityType = Literal["person", "organization", "place", "technology", "service", "team"]
Wanted = Literal["likes", "dislikes", "prefers", "always", "never"]
WE = "we"


class Said(NamedTuple):
    """A turn as an extractor sees it. `speaker` is what claims about "I" are about."""

    text: str
    at: datetime
    speaker: str = "user"
    role: str = "user"


class NamedEntity(NamedTuple):
    name: str
    type: EntityType
    start: int
    end: int


class Claimed(NamedTuple):
    """One claim. `single`: it holds one value at a time, so that another value takes its place. `since`: from when on
    it holds, where the turn says so. `corrects`: what was said before was wrong from its beginning. `by` names who
    found it, where that is not the rules."""

    subject: str
    predicate: str
    object: str
    start: int
    end: int
    negated: bool = False
    single: bool = False
    confidence: float = 0.85
    since: datetime | None = None
    corrects: bool = False
    by: str = ""

    @property
    def text(self) -> str:
        """As a sentence that stands alone."""
        no = "not: " if self.negated else ""
        return f"{no}{self.subject} {self.predicate} {self.object}"


class Wish(NamedTuple):
    """What the speaker wants, in their own words."""

    wanted: Wanted
    what: str
    start: int
    end: int


class Dated(NamedTuple):
    """A period that the turn names."""

    first: datetime
    end: datetime
    words: str


class Extract(NamedTuple):
    """All that was found in one turn, in its order."""

    entities: tuple[NamedEntity, ...] = ()
    claims: tuple[Claimed, ...] = ()
    wishes: tuple[Wish, ...] = ()
    dates: tuple[Dated, ...] = ()


Extractor = Callable[[Said, Sequence[Claimed]], Extract]
"""Called with a turn and with what was claimed before it, which "no, it is 5433" goes back to."""


class NamedExtractor(NamedTuple):
    """One that reads turns beside the rules."""

    name: str
    extract: Extractor
