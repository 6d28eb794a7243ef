"""How well a text fits a question, from 0 to 1, so that "nothing fits" can be said: what a score within one recall
cannot tell. Each piece of evidence adds to the odds that the text is what was asked for:

- Nearness in meaning, against what texts of this memory usually have with this question: the cosines of one question
  are all low, those of another all high.
- Words of the question, each by how telling it is, in the text or beside it. Who spoke and when is known and seldom
  written, so a name is there in what its bearer said, and a date in what is of that date.
- A name or a code has no other word for it. Where it is missing, the text is about something else; and where nothing
  in this memory has a code, nothing answers a question about it.
- Said by another than whom the question names; not of the date it names, or another version of the same held then; a
  question itself.

Prose says much that no answer repeats: it may have a few of its words, and its names and codes need not be there.

Statistics begin with those of `USUAL` texts that have nothing to do with the question: they hold in a store of one.

The weights were learned on the dev half of our own operations evaluation (benchmarks/abstention.py), and rounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container
from typing import TYPE_CHECKING

from agent_memory.core.recall.question import AskedQuestion
from agent_memory.core.write.words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from agent_memory.core.recall.score import Numbers, PoolEvidence

    Flags = NDArray[np.bool_]
    Sets = NDArray[np.uint8]  # of words, a bit for each, a row for each text

NO_EVIDENCE = -1.25
NEAR, WORDS, NAMES, UNSEEN, OTHER_SPEAKER, OTHER_DATE, ASKS = 0.45, 2.85, -1.0, -1.75, -0.5, -0.75, -1.2
USUAL, MEAN, SPREAD = 100, 0.12, 0.10  # cosines of a question with texts that have nothing to do with it
SHORTEST = 3  # characters of a code; "5" is a number
MOST_IN_PROSE = 8  # telling words of a paragraph that a text about it can be asked to have
HOLDS = 0.25  # from here on, a text is of the date that the question names

_CODE = re.compile(r"[\d_@]|\w\w\.\w\w")
_INSIDE = re.compile(r"[^\s.?!:](?=\s{1,3}[\"'“(]{0,2}(\w+))")  # words that do not begin a sentence
_ENGLISH = re.compile(r"\b(?:what|which|who|whose|whom|where|when|why|how|did|does|is|are|the|and|of)\b", re.IGNORECASE)


def relevance(evidence: PoolEvidence) -> Numbers:
    """One number for each candidate. An exact key is all one can ask for."""
    import numpy as np

    odds = NO_EVIDENCE + sum(reasons(evidence).values())
    fits: Numbers = np.where(evidence.pool.exact, 1.0, 1 / (1 + np.exp(-odds)))
    return fits


def reasons(evidence: PoolEvidence) -> dict[str, Numbers]:
    """What each piece of evidence adds to the log of the odds."""
    import numpy as np

    asked, pool = evidence.asked, evidence.pool
    of_date = evidence.dates >= HOLDS
    if evidence.held is not None:
        of_date = np.where(evidence.held < 0, of_date, evidence.held > 0)
    when = asked.dated.union(*(words(one.words) for one in asked.past if one.named))
    named = [mark for mark in asked.named if pool.frequencies[evidence.column[mark]]]
    unwritten = {asked.named[mark]: evidence.marked((mark,)) > 0 for mark in named} | dict.fromkeys(when, of_date)
    names, places, telling = _names(asked, unwritten), _places(evidence, unwritten), evidence.telling(USUAL)
    wrong_date = ~of_date & any(period.exact for period in asked.periods)
    if evidence.held is not None:
        wrong_date |= evidence.held == 0
    by_another = (pool.conversations > 0) & (evidence.marked(tuple(named)) == 0) & bool(named)
    prose = asked.read_as == "prose"
    return {
        "near": NEAR * _unusual(evidence),
        "words": WORDS * np.minimum(_covered(places, telling, MOST_IN_PROSE if prose else None), 1.0),
        "names": NAMES * (1 - _covered(places, telling * names)) * bool(names.any() and not prose),
        "unseen": np.full(len(of_date), UNSEEN * (not prose and _unseen(evidence, unwritten))),
        "speaker": OTHER_SPEAKER * by_another.astype(np.float64),
        "date": OTHER_DATE * wrong_date.astype(np.float64),
        "question": ASKS * evidence.marked(asked.asking),
    }


def usual(similarities: Numbers) -> tuple[float, float]:
    """Mean and standard deviation."""
    count = len(similarities) + USUAL
    mean = (float(similarities.sum()) + USUAL * MEAN) / count
    variance = (float(((similarities - mean) ** 2).sum()) + USUAL * (SPREAD**2 + (MEAN - mean) ** 2)) / count
    return mean, math.sqrt(variance)


def _unusual(evidence: PoolEvidence) -> Numbers:
    """In standard deviations above the mean; nothing is known of what has no vector."""
    import numpy as np

    mean, deviation = evidence.usual
    return np.where(evidence.embedded, (evidence.similar - mean) / deviation, 0.0)


def _names(asked: AskedQuestion, known: Container[str]) -> Flags:
    """Which words are names or codes of something, and not `known` to be a speaker's or a date's. German writes every
    noun with a capital, so a capital makes a name in English only."""
    import numpy as np

    inside = _INSIDE.findall(asked.text) if _ENGLISH.search(asked.text) else []
    capital = {word.casefold() for word in inside if word[0].isupper()}
    terms = asked.terms.values()
    return np.array([(word in capital or bool(_CODE.search(word))) and word not in known for word in terms], np.bool_)


def _unseen(evidence: PoolEvidence, known: Container[str]) -> bool:
    """Whether the question has a code that nothing has which this reader may see."""
    words = zip(evidence.asked.terms.values(), evidence.pool.frequencies.tolist(), strict=False)
    return any(
        not count and len(word) >= SHORTEST and _CODE.search(word) and word not in known for word, count in words
    )


def _places(evidence: PoolEvidence, unwritten: dict[str, Flags]) -> list[tuple[float, Sets]]:
    """Which words are in a text, then which others are beside it, place by place, with what a place counts.
    `unwritten` says where a word holds without being written."""
    import numpy as np

    terms, conversations = evidence.asked.terms, evidence.pool.conversations
    own = np.zeros((len(conversations), (len(terms) + 7) // 8), np.uint8, order="F")
    for column, word in enumerate(terms.values()):
        held = evidence.pool.counts[:, column] > 0
        if word in unwritten:
            held |= unwritten[word]
        own[:, column // 8] |= held.astype(np.uint8) << column % 8
    found, places = own.copy(), [(1.0, own)]
    for distance, share in enumerate(evidence.recipe.near_words, 1):
        beside = np.zeros_like(own)
        together = (conversations[distance:] == conversations[:-distance]) & (conversations[distance:] > 0)
        linked = together[:, None].astype(np.uint8) * np.uint8(255)
        beside[distance:] |= own[:-distance] & linked
        beside[:-distance] |= own[distance:] & linked
        places.append((share, beside & ~found))
        found |= beside
    return places


def _covered(places: list[tuple[float, Sets]], weights: Numbers, most: int | None = None) -> Numbers:
    """The share of the words' weight that is there: a table of what each byte of words weighs, looked up. With `most`,
    of the weight of that many words."""
    import numpy as np

    total, width = float(np.sort(weights)[::-1][:most].sum()), places[0][1].shape[1]
    padded = np.zeros(8 * width)
    padded[: len(weights)] = weights / total if total > 0 else 0.0
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
    tables = padded.reshape(width, 8) @ bits.T
    covered = np.zeros(len(places[0][1]))
    for share, held in places:
        for byte, table in enumerate(tables):
            covered += share * table[held[:, byte]]
    return covered
