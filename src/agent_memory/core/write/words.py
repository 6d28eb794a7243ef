"""Analysis: how a text becomes words that can be searched. The same for every engine, and versioned.

Folded, split at everything that is no letter or digit, stop words dropped, stemmed. A compound such as
`web-01.prod` or `pg_stat_activity` also counts as a whole, so that exact names are found exactly; scripts that
are written without spaces are cut into pairs of characters.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from agent_memory.ports.changes import Terms

ANALYSER = "words-1"
MOST_TERMS = 20_000  # different words of one text that are indexed; the rest of a huge text is found by its vectors

STOP_WORDS = frozenset(
    """a about above after again all also am an and any are aren as at be because been before being below between
    both but by can could couldn d did didn do does doesn doing don down during each few for from further had hadn has
    hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll m me
    more most my myself no nor not now of off on once only or other our ours ourselves out over own re s same shan she
    should shouldn so some such t than that the their theirs them themselves then there these they this those through
    to too under until up ve very was wasn we were weren what when where which while who whom why will with won would
    wouldn you your yours yourself yourselves""".split()
)

_WORD = re.compile(r"[^\W_]+")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_CONNECTED = re.compile(r"\w[-._:/@]+\w")
_COMPOUND = re.compile(r"(?<!\w)\w++(?:[-._:/@]++\w++)++")  # possessive: linear, whatever the text
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003134f]+")
_stemmers = threading.local()


def words(text: str) -> list[str]:
    """The searchable words of a text, with repeats, as a reader would recognise them; stop words among them."""
    if text.isascii():
        folded = text.lower()
        found = _ASCII_WORD.findall(folded)
    else:
        folded = unicodedata.normalize("NFKC", text).casefold()
        found = [part for word in _WORD.findall(folded) for part in _parts(word)]
    if _CONNECTED.search(folded):
        found += _COMPOUND.findall(folded)
    return found


def spelled(text: str) -> list[str]:
    """A text word by word, as it is read: compounds in their parts, capitals kept."""
    return [part for word in _WORD.findall(unicodedata.normalize("NFKC", text)) for part in _parts(word)]


@lru_cache(maxsize=30_000)
def word_hash(word: str) -> bytes:
    """Eight bytes that stand for a word and everything that has the same stem; none for a stop word."""
    if word in STOP_WORDS:
        return b""
    stem = _stem(word) if word.isalpha() else word
    return hashlib.blake2b(stem.encode(), digest_size=8).digest()


def terms(text: str, marks: Iterable[bytes] = ()) -> Terms:
    """What the store keeps of a text's words, and of what is marked on it."""
    counts = Counter(map(word_hash, words(text)))
    counts.pop(b"", None)
    length = counts.total()
    chosen = dict(counts.most_common(MOST_TERMS)) if len(counts) > MOST_TERMS else counts
    chosen.update(dict.fromkeys(marks, 1))
    times = chosen.values()
    packed = bytes(times) if max(times, default=0) < 256 else bytes(min(count, 255) for count in times)
    return Terms(b"".join(chosen), packed, length)


def query_terms(text: str, most: int = 64) -> dict[int, str]:
    """hash -> the word as it was asked for; a question has a bounded number of them."""
    found: dict[int, str] = {}
    for word in words(text):
        if len(found) == most:
            break
        if hashed := word_hash(word):
            found.setdefault(int.from_bytes(hashed, "little"), word)
    return found


def _parts(word: str) -> list[str]:
    """A word as it is, or, in a script without spaces, its pairs of characters."""
    run = _UNSPACED.search(word)
    if run is None:
        return [word]
    inside = run.group()
    pairs = [inside[place : place + 2] for place in range(len(inside) - 1)] or [inside]
    return [part for part in (word[: run.start()], *pairs, word[run.end() :]) if part]


def _stem(word: str) -> str:
    stemmer = getattr(_stemmers, "english", None)
    if stemmer is None:
        import Stemmer

        stemmer = _stemmers.english = Stemmer.Stemmer("english", 0)  # no cache of its own: word_hash has one
    stem: str = stemmer.stemWord(word)
    return stem
