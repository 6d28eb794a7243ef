"""Reading a question: its words, whom and when it speaks of, what kind of answer it wants, how a speaker would say it.

Everything here is a rule with a reason that holds for any memory of conversations:

- People say "I", not their own name, so a question about a speaker is also asked without the name and in the first
  person ("What did Ann buy?" is near "I bought …").
- Who spoke and when is known for every record, so a name or a date in a question is evidence of its own.
- "When" is answered by a time, "how many" by a number; a question is seldom answered by a question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import datetime
from unicodedata import normalize

from agent_memory.core.recall.dates import Period, periods
from agent_memory.core.recall.past import Window
from agent_memory.core.write.marks import NUMBER, QUESTION, TIME, mark_hash
from agent_memory.core.write.words import STOP_WORDS, query_terms, words
from agent_memory.models.answer import Shape

USER, ASSISTANT = "user", "assistant"

_NAME = re.compile(r"\b([A-Z]\w+)(?:['’]s)?\b")
_OPENING = re.compile(
    r"^\W*(?:(?:in|on|at|for|with|from|to|by|of|about)\s+)?(?:what|which|who|whom|whose|where|when|why|how)\b"
    r"(?:\s+(?:many|much|long|often|old|kinds?|types?|sorts?|of)\b)*",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"\b(?:did|does|do|is|are|was|were|has|have|had|will|would|can|could|should|might|may)\b", re.IGNORECASE
)
_ASKS_TIME = re.compile(
    r"\bwhen\b|\bwhat (?:date|day|month|year|time)\b|\bhow (?:long|recently)\b|\bsince when\b", re.I
)
_ASKS_NUMBER = re.compile(
    r"\bhow (?:many|much|often|old|far|big|large)\b|\bwhat (?:number|percentage|version|port)\b", re.I
)
_FIRST, _SECOND = re.compile(r"\b(?:I|me|my|mine|we|our|us)\b"), re.compile(r"\b(?:you|your|yours)\b", re.I)
_NAMES_TIME = re.compile(
    r"\d|ago\b|\b(?:to|yester)day|tomorrow|tonight|morning|evening|night|noon|week|month|year|day\b|hour|minute|quarter"
    r"|recent|lately|spring|summer|autumn|\bfall\b|winter|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu"
    r"|fri|sat|sun",
    re.IGNORECASE,
)
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class AskedQuestion:
    """What a question says. `marks` are columns of evidence to gather beside the words; `named` are those of
    `marks` that stand for a speaker whom the question calls by name, `asking` that of texts that ask themselves, and
    `past` are the times in the past that it asks of. `also` are words as older analysers hash them -> those of `terms`
    that they are counted with."""

    text: str
    terms: dict[int, str]
    named: dict[int, str]
    sides: dict[int, str]
    wanted: dict[int, str]
    asking: tuple[int, ...]
    periods: tuple[Period, ...]
    past: tuple[Window, ...] = ()
    read_as: Shape = "question"
    also: dict[int, int] = field(default_factory=dict)

    def as_prose(self) -> AskedQuestion:
        """The words alone: prose names people and days in passing, and asks nobody."""
        return replace(self, named={}, sides={}, wanted={}, asking=(), periods=(), past=(), read_as="prose")

    @property
    def dated(self) -> set[str]:
        """The words that name a period."""
        return {word for period in self.periods for word in words(period.text)}

    @property
    def columns(self) -> tuple[int, ...]:
        return (*self.terms, *self.named, *self.sides, *self.wanted, *self.asking)


def read(text: str, now: datetime) -> AskedQuestion:
    """Characters that only look different (full width, ligatures) are read as what they stand for."""
    text = normalize("NFKC", text)
    terms = query_terms(text)
    named = {_mark(f"by {word}"): word for word in terms.values()}
    sides = {}
    if _FIRST.search(text):
        sides[_mark(f"by {USER}")] = USER
    if _SECOND.search(text):
        sides[_mark(f"by {ASSISTANT}")] = ASSISTANT
    wanted = {}
    if _ASKS_TIME.search(text):
        wanted[_mark(TIME)] = TIME
    elif _ASKS_NUMBER.search(text):
        wanted[_mark(NUMBER)] = NUMBER
    named = {mark: word for mark, word in named.items() if mark not in sides}
    named_time = tuple(periods(text, now)) if _NAMES_TIME.search(text) else ()
    return AskedQuestion(text, terms, named, sides, wanted, (_mark(QUESTION),), named_time, also=terms.also)


def names(text: str) -> list[str]:
    """Words that may be somebody's name: written with a capital, and no common word."""
    return [name for name in _NAME.findall(text) if name.casefold() not in STOP_WORDS]


def spoken(text: str, speakers: frozenset[str]) -> list[str]:
    """The question, and how it sounds without the speakers' names and from their own mouth."""
    called = [name for name in names(text) if name.casefold() in speakers]
    if not called:
        return [text]
    who = rf"\b(?:{'|'.join(map(re.escape, called))})\b"
    bare = _tidy(re.sub(rf"{who}(?:['’]s)?", "", text))
    own = re.sub(who, "I", re.sub(rf"{who}['’]s", "my", text))
    own = _AUXILIARY.sub("", _OPENING.sub("", own), count=1)
    own = re.sub(r"\b(?:his|her|their)\b", "my", re.sub(r"\b(?:he|she|they)\b", "I", own))
    return [form for form in (text, bare, _tidy(own).strip(" ?.!")) if form]


def _tidy(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def _mark(name: str) -> int:
    return int.from_bytes(mark_hash(name), "little")
