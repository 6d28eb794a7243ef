"""Sentences with their places in the turn, and whether they claim anything.

A question, a condition, a guess, a joke, an order and hearsay claim nothing; quotations and code are somebody else's
words and are blanked out before. What is not certainly a statement is passed over: precise beats many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

MOST_READ = 20_000  # characters of a turn
LONGEST = 400  # characters of a sentence: what is longer is no talk


class Mood(StrEnum):
    STATEMENT = "statement"
    QUESTION = "question"
    GUESS = "guess"
    JOKE = "joke"
    HEARSAY = "hearsay"
    ORDER = "order"


class SaidSentence(NamedTuple):
    text: str
    start: int
    mood: Mood

    @property
    def end(self) -> int:
        return self.start + len(self.text)


_FOREIGN = re.compile(
    r"```.{0,20000}?(?:```|\Z)|^[ \t]{0,3}>[^\n]*|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|«[^»\n]{1,400}»", re.S | re.M
)
_SENTENCE = re.compile(
    r"\S[^\n]*?(?:(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bvs)(?<!e\.g)(?<!i\.e)[.!?](?=\s|$)|$)", re.M
)
_JOKE = re.compile(
    r"\b(?:ha(?:ha)+|lol|lmao|rofl|just kidding|only joking|jk|yeah,? right|as if)\b"
    r"|[😂🤣😹😜😝🤪😉]|[;:]-?[)DPp](?=\s|$)"
    r"|^(?:sure|right), and\b|^obviously,? I\b",
    re.I,
)
_TAKEN_BACK = re.compile(r"^\W{0,3}(?:(?:just|only) (?:kidding|joking)|jk|lol|not really|haha)\b", re.I)
_QUESTION = re.compile(
    r"^(?:(?:so|and|but|ok|okay|hey|hi|well)[, ]+)?(?:what|where|who|whom|whose|why|how|which|is|are|was|were|am"
    r"|do|does"
    r"|did|didn't|don't (?:you|we)|isn't|aren't|can|could|should|would|will|shall|has|have you|have we|any idea"
    r"|do you know|not sure|no idea|remind me)\b|\b(?:wonder|not sure|unsure|do you know) (?:if|whether|who|what"
    r"|where)\b",
    re.I,
)
_GUESS = re.compile(
    r"\b(?:if|unless|maybe|perhaps|might|could|would|should|probably|possibly|presumably|suppose|supposing|imagine"
    r"|assum(?:e|ing)|pretend|wish|hope|guess|let's say|let us say|say I|what if|whether|consider(?:ing)?"
    r"|thinking (?:of|about)"
    r"|want(?:s|ed)? to|plan(?:s|ning)? to|going to|in (?:my|a) dream|dreamt|dreamed|once we|once I|as soon as"
    r"|in theory|seems?|looks like|think so|I think|I believe|I doubt|not sure|would've|ought to)\b"
    r"|\b(?:I|we|you|he|she|it|they) may\b|\bI'd like\b|^(?:when|whenever|until|as long as|while)\b",
    re.I,
)
_HEARSAY = re.compile(
    r"\b(?:says?|said|claims?|claimed|told|thinks?|believes?|heard|hears|according to|rumou?r|apparently|supposedly"
    r"|allegedly|reportedly|read that|mention(?:s|ed) that|wrote|writes that|insists?|insisted|argues|suggests?"
    r"|suggested)\b",
    re.I,
)
_ORDER = re.compile(
    r"^(?:(?:please|now|then|and|ok|okay)[, ]+)?(?:write|translate|fix|run|add|draft|rename|summari[sz]e|explain"
    r"|show|tell"
    r"|create|make|give|list|generate|say|repeat|delete|remove|update|change|check|find|look|refactor|implement|open"
    r"|print|answer|reply|send|ignore|forget|remember to|let me|let's|let us)\b",
    re.I,
)


_CONTROL = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]|[^\S\n ]|[\x00-\x08\x0e-\x1f\x7f-\x9f]")
"""What a terminal acts upon, and tabs: no name and no fact may hold it."""


def quoted_out(text: str) -> str:
    """The same length, with blanks where somebody else's words, code and what is no letter stand."""
    return _FOREIGN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), _CONTROL.sub(_blank, text[:MOST_READ]))


def _blank(found: re.Match[str]) -> str:
    return " " * len(found[0])


def sentences(text: str) -> list[SaidSentence]:
    """In order. "Just kidding" takes back what stands before it, too."""
    found = list(_read(quoted_out(text)))
    for place in range(1, len(found)):
        if _TAKEN_BACK.match(found[place].text):
            found[place - 1] = found[place - 1]._replace(mood=Mood.JOKE)
    return found


def _read(text: str) -> Iterator[SaidSentence]:
    for match in _SENTENCE.finditer(text):
        said = match[0].rstrip()
        if said and len(said) <= LONGEST:
            yield SaidSentence(said, match.start(), mood(said))


def mood(said: str) -> Mood:
    if "?" in said[-3:] or _QUESTION.search(said):
        return Mood.QUESTION
    for pattern, found in ((_JOKE, Mood.JOKE), (_HEARSAY, Mood.HEARSAY), (_GUESS, Mood.GUESS), (_ORDER, Mood.ORDER)):
        if pattern.search(said):
            return found
    return Mood.STATEMENT
