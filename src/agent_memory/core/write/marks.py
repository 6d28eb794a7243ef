"""Marks: what can be said of a text beside its words. Kept among them, under names that no word can have."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from functools import lru_cache

from agent_memory.core.write.words import STOP_WORDS, words

TIME, NUMBER, QUESTION = "time", "number", "question"

_TIME = re.compile(
    r"\b(?:yesterday|today|tomorrow|tonight|ago|last|next|recently|weeks?|weekends?|months?|years?|morning|evening|night"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|spring|summer|autumn|winter|\d{4}|\d{1,2}(?:st|nd|rd|th)|\d{1,2}:\d\d)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|once|twice"
    r"|couple|several|few|first|second|third)\b",
    re.IGNORECASE,
)


def marks(text: str, said_by: Iterable[str] = ()) -> list[bytes]:
    """Who said it, whether it names a time or a number, whether it is a question itself."""
    found = [mark_hash(f"by {name}") for speaker in said_by for name in spoken_names(speaker)]
    if _TIME.search(text):
        found.append(mark_hash(TIME))
    if _NUMBER.search(text):
        found.append(mark_hash(NUMBER))
    if text.rstrip().endswith(("?", "？")):
        found.append(mark_hash(QUESTION))
    return found


def spoken_names(speaker: str) -> list[str]:
    """The words by which a question may call a speaker."""
    return [word for word in words(speaker) if word not in STOP_WORDS]


@lru_cache(maxsize=10_000)
def mark_hash(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=8, person=b"mark").digest()
