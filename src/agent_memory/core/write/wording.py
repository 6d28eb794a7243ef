"""In which words a store is written: as it says, until `rebuild` brings it to the newest that this program knows."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping, Sequence

from agent_memory.core.write import words
from agent_memory.core.write.marks import marks
from agent_memory.core.write.words import Analyser, analyser
from agent_memory.models.kinds.kind import Kind
from agent_memory.ports.changes import Change, Derived, Put, Vocabulary
from agent_memory.ports.records import Analysis, Checker, Deriver

REBUILD = "`agent-memory rebuild` makes them anew; meanwhile the store can be used"


class Wording:
    """What the store said when it was last asked; a write that it refuses asks again."""

    def __init__(self, vocabularies: Callable[[], Sequence[Vocabulary]]) -> None:
        self._vocabularies = vocabularies
        self._analyser: Analyser | None = None

    @property
    def analyser(self) -> Analyser:
        """`StoreNewer` where this program does not know it."""
        if self._analyser is None:
            stored = self._vocabularies()
            self._analyser = analyser(stored[0].name) if stored else words.ANALYSERS[0]
        return self._analyser

    def again(self, changes: Sequence[Change], kinds: Mapping[str, Kind]) -> list[Change] | None:
        """The same changes in the words that the store is written in by now; None: they are."""
        self._analyser = None
        name = self.analyser.name
        if all(
            one.derived.vocabulary.name == name for one in changes if isinstance(one, Put) and one.derived.vocabulary
        ):
            return None
        return [self._reworded(one, kinds) if isinstance(one, Put) else one for one in changes]

    def _reworded(self, put: Put, kinds: Mapping[str, Kind]) -> Put:
        made = deriver(kinds, self.analyser)(put.kind, put.content.text, put.content.payload)
        return put._replace(derived=put.derived._replace(terms=made.terms, vocabulary=made.vocabulary))


def derive(kind: Kind, text: str, payload: Mapping[str, object], by: Analyser) -> Derived:
    """Words and indexed fields: all that follows from a content without a model."""
    fields = tuple((name, value) for name in kind.indexed if isinstance(value := payload.get(name), (str, int, float)))
    made = by.terms(text, marks(text, kind.said_by(dict(payload))))
    return Derived(terms=made, fields=fields, vocabulary=by.vocabulary)


def deriver(kinds: Mapping[str, Kind], by: Analyser) -> Deriver:
    """The same from what a store holds. A kind that is no longer installed has no fields."""

    def again(kind: str, text: str, payload: str) -> Derived:
        return derive(kinds.get(kind, Kind(kind, kind)), text, json.loads(payload), by)

    return again


def analysis(kinds: Mapping[str, Kind], stored: Sequence[Vocabulary]) -> Analysis:
    """For `rebuild`: the newest way there is. What a newer program wrote is not made anew by an older one."""
    newest = words.ANALYSERS[0]
    check(stored)
    return Analysis(newest.vocabulary, deriver(kinds, newest), asked)


def asked(query: str) -> bytes:
    """The words of a question, for its receipt."""
    return words.asked_terms(unicodedata.normalize("NFKC", query))


def checker(kinds: Mapping[str, Kind]) -> Checker:
    """For `verify`: each content in the words that it was written in."""
    known = {one.name: deriver(kinds, one) for one in words.ANALYSERS}

    def again(kind: str, text: str, payload: str, vocabulary: str) -> Derived | None:
        return known[vocabulary](kind, text, payload) if kind in kinds and vocabulary in known else None

    return again


def check(stored: Sequence[Vocabulary]) -> None:
    """`StoreNewer` where there are words that this program cannot make: it would not find them."""
    for one in stored:
        analyser(one.name)


def same(told: Sequence[str], stored: Sequence[Vocabulary]) -> bool:
    """Whether a receipt that tells these was answered in the words of today."""
    before = [Vocabulary(*one.split("@")) for one in told]
    return len(before) == len(stored) and all(map(Vocabulary.same, before, stored))


def outdated(stored: Sequence[Vocabulary]) -> str | None:
    """Why a store's words should be made anew, if they should."""
    check(stored)
    newest = words.ANALYSERS[0].vocabulary
    if not stored or (len(stored) == 1 and stored[0].same(newest)):
        return None
    if stored[0].same(newest):
        left = ", ".join(dict.fromkeys(one.fingerprint for one in stored[1:]))
        return f"a rebuild to {newest.fingerprint} was not finished; some words are still those of {left}"
    return f"the words of the store are made by {stored[0].fingerprint}, the newest are {newest.fingerprint}"
