"""When two records say the same, and which of them is shown.

They do when one says every sentence of the other, word by word and in order, and the other is at least half of it.
Case, spacing, articles and the punctuation of sentences make no difference; every other word, number and sign does.
So "port 5432" is not "port 5433", "it works" is not "it does not work", and what asks is not what tells, in any
language. Nearness in meaning is not asked: for an embedder those are the same.

Whoever says it counts, too: only records of one kind are compared, and what their payloads say must be equal, apart
from where they stand (`STANDING`). The same words of another speaker are another statement.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from agent_memory.core.recall.chosen import Chosen
from agent_memory.models.record import Record

STANDING = frozenset(("index", "token_count", "metadata", "entity_ids", "source_turn_id"))
LONGEST = 20_000  # characters; of two longer texts only those that are equal say the same
_ARTICLES = frozenset(("a", "an", "the"))
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_OPENING, _CLOSING = "\"'“”‘«([{¿¡", ".,;:!?…\"'“”»)]}。、，！？"

Sentence = tuple[str, ...]


class Saying(NamedTuple):
    """What a text says: its sentences, and how many words they have."""

    sentences: frozenset[Sentence]
    words: int

    @classmethod
    def of(cls, text: str) -> Saying:
        if len(text) > LONGEST:
            return cls(frozenset([(text,)]), 1)
        folded = text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold().replace("’", "'")
        sentences = frozenset(filter(None, map(_sentence, _SENTENCE.split(folded))))
        return cls(sentences, sum(map(len, sentences)))

    def covers(self, other: Saying) -> bool:
        """Whether this says everything that the other says, and not more than twice as much."""
        return other.sentences <= self.sentences and self.words <= 2 * other.words

    def same(self, other: Saying) -> bool:
        return self.covers(other) or other.covers(self)


def _sentence(text: str) -> Sentence:
    stripped = [(word.lstrip(_OPENING).rstrip(_CLOSING) or word) for word in text.split()]
    words = [word for word in stripped if word not in _ARTICLES]
    return (*words, "?") if words and ("?" in text or "？" in text) else tuple(words)


@dataclass(eq=False)
class RepeatGroup:
    """Records that say the same, in the order of the ranking. `shown` is the fullest of them; of equals, the newest."""

    number: int
    members: list[Chosen]
    shown: Chosen
    saying: Saying

    def add(self, one: Chosen, saying: Saying) -> None:
        self.members.append(one)
        if (saying.words, *_age(one.record)) > (self.saying.words, *_age(self.shown.record)):
            self.shown, self.saying = one, saying

    def collapsed(self) -> Chosen:
        """The one that is shown, at the place and with the score of the one that ranks best."""
        best, shown = self.members[0], self.shown
        if len(self.members) == 1:
            return shown
        if shown is not best:
            shown = shown.moved("repeats", best.score)
        return replace(shown, repeats=tuple(one for one in self.members if one is not self.shown))


class Repeats:
    """Collapses a ranking page by page. What was given back stays as it is: a later page only loses what repeats it."""

    def __init__(self) -> None:
        self._groups: list[RepeatGroup] = []
        self._saying: dict[Hashable, set[int]] = {}  # who says a sentence: numbers of groups

    def collapse(self, page: Sequence[Chosen]) -> list[Chosen]:
        settled = len(self._groups)
        for one in page:
            saying, about = Saying.of(one.record.text), _about(one.record)
            places = [(about, sentence) for sentence in saying.sentences]
            group = self._same(saying, places)
            if group is None:
                group = RepeatGroup(len(self._groups), [one], one, saying)
                self._groups.append(group)
            elif group.number >= settled:
                group.add(one, saying)
            else:
                continue
            for place in places:
                self._saying.setdefault(place, set()).add(group.number)
        return [group.collapsed() for group in self._groups[settled:]]

    def _same(self, saying: Saying, places: Sequence[Hashable]) -> RepeatGroup | None:
        """The first group that says the same."""
        near = sorted({number for place in places for number in self._saying.get(place, ())})
        return next((self._groups[number] for number in near if self._groups[number].saying.same(saying)), None)


def _about(record: Record) -> Hashable:
    said = {name: value for name, value in record.payload.items() if name not in STANDING}
    return record.kind, json.dumps(said, sort_keys=True) if said else ""


def _age(record: Record) -> tuple[object, ...]:
    return record.valid_from, record.seq
