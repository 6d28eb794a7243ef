"""A summary of turns without a model: sentences of the turns themselves, as `core/recall/summary` chooses them. It
quotes and never invents, and the same turns give the same summary."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from agent_memory.core.context.tokens import Counter
from agent_memory.core.recall.summary import ranked, unlike
from agent_memory.core.write.words import word_hash, words
from agent_memory.models.kinds.talk import Pick
from agent_memory.models.record import Record

LONGEST = 300  # characters of a sentence; what goes on is cut at a blank
FEWEST_WORDS = 3  # that mean something: thanks and greetings are alike in every conversation
SAME = 0.8  # likeness from which on two sentences say the same
AT_ONCE = 200  # sentences that are compared with each other
MOST_READ = 20_000  # characters of a turn
_SENTENCE = re.compile(r"\S[^\n]*?(?:[.!?。！？](?=\s|$)|$)", re.MULTILINE)


class QuotedSentence(NamedTuple):
    """A stretch of a turn, and how a summary shows it."""

    pick: Pick
    place: int  # of its turn in the conversation
    role: str
    text: str

    @property
    def shown(self) -> str:
        return f"[{self.place} {self.role}] {self.text}"


def sentences(turn: Record) -> Iterator[QuotedSentence]:
    """Those that say something. A stretch ends between words, never inside one."""
    text = turn.text[:MOST_READ]
    for match in _SENTENCE.finditer(text):
        for start, end in _pieces(text, match.start(), match.end()):
            said = _sentence(turn, Pick(turn_id=turn.id, version=turn.version, start=start, end=end))
            if len({one for one in map(word_hash, words(said.text)) if one}) >= FEWEST_WORDS:
                yield said


def picked(picks: Iterable[Pick], turns: Iterable[Record]) -> list[QuotedSentence]:
    """The sentences behind picks. What was forgotten or corrected since is not there any more."""
    known = {one.id: one for one in turns}
    return [
        _sentence(known[one.turn_id], one)
        for one in picks
        if one.turn_id in known and known[one.turn_id].version == one.version
    ]


def extracted(
    before: Sequence[QuotedSentence], turns: Iterable[Record], tokens: int, count: Counter
) -> list[QuotedSentence]:
    """The most important first: of those that were chosen before and of what these turns say, within so many tokens."""
    chosen, waiting = list(before), list[QuotedSentence]()
    for turn in turns:
        waiting += sentences(turn)
        while len(waiting) >= AT_ONCE:
            chosen, waiting = _chosen([*chosen, *waiting[:AT_ONCE]], tokens, count), waiting[AT_ONCE:]
    return _chosen([*chosen, *waiting], tokens, count)


def within(ranked: Iterable[QuotedSentence], tokens: int, count: Counter) -> list[QuotedSentence]:
    """As many from the top as fit."""
    kept, left = list[QuotedSentence](), tokens
    for one in ranked:
        cost = count(one.shown + "\n")
        if cost <= left:
            kept.append(one)
            left -= cost
    return kept


def _chosen(offered: Sequence[QuotedSentence], tokens: int, count: Counter) -> list[QuotedSentence]:
    """What says the same as an earlier one is left out first."""
    ordered = sorted(offered, key=lambda one: (one.place, one.pick.start))
    apart = [ordered[place] for place in unlike([one.text for one in ordered], SAME)]
    return within([apart[place] for place in ranked([one.text for one in apart])], tokens, count)


def _sentence(turn: Record, pick: Pick) -> QuotedSentence:
    return QuotedSentence(pick, turn.payload["index"], turn.payload["role"], turn.text[pick.start : pick.end])


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST:
        cut = text.rfind(" ", start + 1, start + LONGEST)
        if cut < 0:
            return  # one word that is longer than any sentence: an encoded file, a key
        yield start, cut
        start = cut + 1
    if text[start:end].strip():
        yield start, start + len(text[start:end].rstrip())
