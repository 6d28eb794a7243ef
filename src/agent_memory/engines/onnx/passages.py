"""Cut a long text into passages that the encoder can read whole.

Promises: the passages cover the text without a gap, in order; each holds at most `PASSAGE` pieces and repeats
about `OVERLAP` pieces of the one before; a cut falls on the end of a sentence if there is one in the last third,
else on white space, else between two words or ideographs. (A run of up to 512 punctuation marks outside ASCII
is never cut; it counts as `PASSAGE` pieces at most.)

A text of more than `LIMIT` passages (about 85,000 pieces, 350 kB of English) is cut only as far as that: what
lies beyond has no vector of its own, and is found by its words. The work is bounded by the same limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent_memory.ports.embedder import Passage

if TYPE_CHECKING:
    from agent_memory.engines.onnx.wordpiece import WordPiece, WordUnit

READABLE = 256  # what the model reads of a text, the two marks that frame it included
PASSAGE = 200
OVERLAP = 30
LIMIT = 512

_SENTENCE_ENDS = ".!?…"
_WIDE_SENTENCE_ENDS = "。！？"  # no space follows these


def split(text: str, words: WordPiece) -> list[Passage]:
    """The passages of `text`; one, if the encoder can read it all."""
    if len(words.encode(text, READABLE + 1)) <= READABLE:
        return [Passage(0, len(text))]
    passages: list[Passage] = []
    start = size = fresh = 0  # of the window: where it begins, its pieces, its units that no passage holds yet
    window: list[WordUnit] = []
    for unit in words.units(text):
        while window and size + _size(unit) > PASSAGE:
            if fresh:
                cut = _cut(text, window, fresh, unit)
                passages.append(Passage(start, window[cut].start if cut < len(window) else unit.start))
                if len(passages) == LIMIT:
                    return passages
                fresh = len(window) - cut
                window = window[_resume(window, cut) :]
            else:  # mere overlap, and the unit is so large that it needs a passage to itself
                window = []
            start = window[0].start if window else unit.start
            size = sum(map(_size, window))
        window.append(unit)
        size += _size(unit)
        fresh += 1
    return [*passages, Passage(start, len(text))]


def _size(unit: WordUnit) -> int:
    return min(len(unit.ids), PASSAGE)


def _cut(text: str, window: list[WordUnit], fresh: int, following: WordUnit) -> int:
    """How many units of a full window make the passage; one of the `fresh` ones, the last of it, at least."""
    spare = PASSAGE // 3
    at_space = 0
    for count in range(len(window), len(window) - fresh, -1):
        last = window[count - 1]
        after = window[count] if count < len(window) else following
        gap = text[last.end : after.start]
        ending = text[last.end - 1]
        if "\n" in gap or ending in _WIDE_SENTENCE_ENDS or (gap and ending in _SENTENCE_ENDS):
            return count
        if gap and not at_space:
            at_space = count
        spare -= _size(last)
        if spare <= 0:
            break
    return at_space or len(window)


def _resume(window: list[WordUnit], cut: int) -> int:
    """Where the next passage begins: some units back, but always further than this one did."""
    room = OVERLAP
    while cut > 1 and _size(window[cut - 1]) <= room:
        cut -= 1
        room -= _size(window[cut])
    return cut
