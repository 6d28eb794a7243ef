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
from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache

from agent_memory.models.errors import StoreNewer
from agent_memory.ports.changes import APART, Terms, Vocabulary

FIRST = "words-1"  # its hashes have no name in them: there was no other yet
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

# For the digest of what an analyser does. The first line has words on which releases of the stemmer differ.
_SAMPLE = """added adding egged ebbed internal international interval interfered geologist past paste evening universe
university generally organization organizer relational conditional happily hopping hoping ponies skies dying news
goodness hopefulness controlling fluently national operator electricity adjustment probate cease web-01.prod pg_stat 42
naïve Straße ﬁne 東京都 don't it's"""


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


class Analyser:
    """One way to make words of a text: split it, drop stop words, stem the rest, hash what is left.

    What changes any of this is another analyser, under another name. Its name is in its hashes, so that in a store that
    has words of two of them these never meet.
    """

    def __init__(
        self,
        name: str,
        stop_words: frozenset[str] = STOP_WORDS,
        language: str = "english",
        split: Callable[[str], list[str]] = words,
    ) -> None:
        self.name = name
        self.split = split
        self.hash: Callable[[str], bytes] = lru_cache(maxsize=30_000)(self._hash)
        self._stop_words = stop_words
        self._language = language
        self._person = b"" if name == FIRST else hashlib.blake2b(name.encode(), digest_size=16).digest()

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Its name, and a digest of what it does: a new release of the stemmer may do something else."""
        stems = [self._stem(word) for word in _SAMPLE.split()]
        told = repr((sorted(self._stop_words), stems, self.split(_SAMPLE)))
        return Vocabulary(self.name, hashlib.blake2b(told.encode(), digest_size=4).hexdigest())

    def terms(self, text: str, marks: Iterable[bytes] = ()) -> Terms:
        """What the store keeps of a text's words, and of what is marked on it."""
        counts = Counter(map(self.hash, self.split(text)))
        counts.pop(b"", None)
        length = counts.total()
        chosen = dict(counts.most_common(MOST_TERMS)) if len(counts) > MOST_TERMS else counts
        chosen.update(dict.fromkeys(marks, 1))
        times = chosen.values()
        packed = bytes(times) if max(times, default=0) < 256 else bytes(min(count, 255) for count in times)
        return Terms(b"".join(chosen), packed, length)

    def _hash(self, word: str) -> bytes:
        """Eight bytes that stand for a word and everything that has the same stem; none for a stop word."""
        if word in self._stop_words:
            return b""
        stem = self._stem(word) if word.isalpha() else word
        return hashlib.blake2b(stem.encode(), digest_size=8, person=self._person).digest()

    def _stem(self, word: str) -> str:
        stemmer = getattr(_stemmers, self._language, None)
        if stemmer is None:
            import Stemmer

            stemmer = Stemmer.Stemmer(self._language, 0)  # no cache of its own: `hash` has one
            setattr(_stemmers, self._language, stemmer)
        stem: str = stemmer.stemWord(word)
        return stem


ANALYSERS = (Analyser(FIRST),)
"""All that this program knows, the newest first. `rebuild` brings a store to that one; until then its words are made as
it says, and every question is asked in the words of all of them."""


def analyser(name: str) -> Analyser:
    """The one that makes the words of a store."""
    for known in ANALYSERS:
        if known.name == name:
            return known
    raise StoreNewer(
        f"the words of the store are made by {name!r}, this agent-memory knows {ANALYSERS[0].name!r}",
        hint="upgrade agent-memory",
    )


def word_hash(word: str) -> bytes:
    """For comparing texts with each other, whatever a store holds; nothing for a stop word."""
    return ANALYSERS[0].hash(word)


def terms(text: str) -> Terms:
    """The same, for a whole text."""
    return ANALYSERS[0].terms(text)


class QueryTerms(dict[int, str]):
    """hash -> the word as it was asked for. `also`: what an older analyser makes of one of these words -> that word's
    own hash."""

    def __init__(self) -> None:
        super().__init__()
        self.also: dict[int, int] = {}


def query_terms(text: str, most: int = 64) -> QueryTerms:
    """The words of a question; it has a bounded number of them. A word that only an older analyser knows counts by
    itself."""
    found = QueryTerms()
    known: dict[str, int] = {}
    for one in ANALYSERS:
        for word in one.split(text):
            hashed = one.hash(word)
            term = int.from_bytes(hashed, "little")
            if not hashed:
                continue
            if term in found or term in found.also:
                known.setdefault(word, found.also.get(term, term))
            elif word in known:
                found.also[term] = known[word]
            elif len(found) < most:
                found[term] = word
                known[word] = term
    return found


def asked_terms(text: str, most: int = 64) -> bytes:
    """The words of a question for its receipt: those of each analyser, apart."""
    parts = (dict.fromkeys(filter(None, map(one.hash, one.split(text)))) for one in ANALYSERS)
    return APART.join(b"".join(list(part)[:most]) for part in parts)


def _parts(word: str) -> list[str]:
    """A word as it is, or, in a script without spaces, its pairs of characters."""
    run = _UNSPACED.search(word)
    if run is None:
        return [word]
    inside = run.group()
    pairs = [inside[place : place + 2] for place in range(len(inside) - 1)] or [inside]
    return [part for part in (word[: run.start()], *pairs, word[run.end() :]) if part]
