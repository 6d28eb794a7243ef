"""Whether two texts state the same fact: not a likeness, but an agreement of everything that could tell them apart.

For an embedder "port 5433" and "port 5434", "enabled" and "disabled", or "A depends on B" and "B depends on A" are
almost the same. So each text is brought into one form, and two agree when their forms are equal: the same words in the
same order, with every number, name, sign, negation, preposition, quantifier and tense. What the form leaves out changes
no fact: case, articles, the punctuation of sentences, "to be" in the present, fillers ("note that", "currently"),
whether something is possessive or "of", another spelling of one word, and where in a sentence its date stands. Dates
are read at the moment of the text: "tomorrow" is another day on Tuesday than on Monday.

A word that is not listed here is a difference. Being equal has no chains: texts that agree with one agree with each
other.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from typing import NamedTuple

from agent_memory.core.recall.dates import periods

LONGEST = 4000  # characters; longer texts agree where they are equal
_DATE = "\ue000"
_SENTENCE = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
_OPENING, _CLOSING = "\"'“”‘«([{¿¡", ".,;:!?…\"'“”»)]}。、，！？"
_MAY_NAME_A_DATE = re.compile(
    r"\d|day\b|tomorrow|tonight|week|month|year|quarter|\bago\b|morning|evening|night|spring|summer|autumn|\bfall\b|winter"
    r"|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)|\b(?:mon|tue|wed|thu|fri|sat|sun)",
    re.IGNORECASE,
)
_SPELLED = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2}|\d[A-Z]|[A-Z]\w*\d|_")
"""What is written so is a name in some system: there case counts."""
_UNITED = re.compile(r"(\d+(?:\.\d+)?)(?!st|nd|rd|th)([A-Za-zµ]{1,3}|%)")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
UNIT = 3  # letters of a unit, in which case counts: MB are no Mb
_COMES_AGAIN = re.compile(r"\b(?:every|each)\b", re.IGNORECASE)
_RELATIVE = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|ago|soon|recently|lately|later|earlier)\b"
    r"|\b(?:this|next|last|past|coming|previous) (?:\w+ )?(?:second|minute|hour|day|week|month|quarter|year|night|"
    r"morning|evening|spring|summer|autumn|fall|winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b"
    r"|\b(?:in|within) (?:a|an|\w+) (?:\w+ )?(?:second|minute|hour|day|week|month|year)s?\b",
    re.IGNORECASE,
)
_CALENDAR = r"(?=.*\b(?:19|20)\d\d\b)[\d\s]*(?:(?:st|nd|rd|th|of|[a-z]{3,9})[\d\s]*){0,3}"


def _phrases(*pairs: tuple[str, str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE), said) for pattern, said in pairs)


_SAID_AS = _phrases(
    (r"^(?:just )?(?:please )?(?:note|remember|keep in mind|be aware)(?: that\b|[:,])\s*", ""),
    (r"^(?:(?:just )?(?:a )?reminder:|fyi\b[:,]?)\s*", ""),
    (r"^(?:as (?:i|we|you) (?:already )?(?:said|mentioned|know)|as mentioned|by the way|btw|in fact)\b[:,]?\s*", ""),
    (r"\b(?:at the moment|at present|right now)\b", ""),
    (r"\bcannot\b", "can not"),
    (r"\bcan't\b", "can not"),
    (r"\bwon't\b", "will not"),
    (r"\bshan't\b", "shall not"),
    (r"n't\b", " not"),
    (r"\bi'm\b", "I am"),
    (r"\b(we|you|they)'re\b", r"\1 are"),
    (r"\b(i|we|you|they)'ve\b", r"\1 have"),
    (r"\b(i|we|you|he|she|it|they)'ll\b", r"\1 will"),
    (r"\b(?:have|has|needs?) to\b", "must"),
    (r"\b(takes?) place\b", "is"),
    (r"\b(is|are|am) (?:located|still)\b", r"\1"),
    (r"\bpull request(s?)\b", r"pr\1"),
    (r"(?<=[^\W\d_])'s\b", ""),  # possessive, or "is": neither is in the form
    (r"(?<=s)'(?=\s)", ""),
    (r"(?<=[^\W\d_])-(?=[^\W\d_])", " "),
)
_FILLERS = frozenset("actually really definitely certainly currently now already indeed".split())
_ARTICLES = frozenset(("a", "an", "the", "our"))
_PRESENT = frozenset(("am", "is", "are", "be"))
_LEFT_OUT = _ARTICLES | _PRESENT | _FILLERS | {"do", "does"}
_BEFORE_DATES = frozenset("on in at by before after for".split())
_ENDS = _PRESENT | frozenset(
    """was were been being has have had do does did will would shall should can could may might must not no of to from
    by for with without into onto in on at over under above below before after until since during between through about
    against and or but if unless when while because than as that which who whose where why how""".split()
)
"""What ends a noun phrase."""
_FUNCTIONS = _ENDS | _LEFT_OUT | {"us", "it", "i", "pm", "so"}
_BEING = _PRESENT | frozenset("was were has had will must should can".split())
_SAME = {
    word: words[0]
    for words in map(
        str.split,
        """database db|databases dbs|repository repo|repositories repos|configuration config|kubernetes k8s
        production prod|application app|applications apps|documentation docs|environment env|administrator admin
        postgresql postgres|javascript js|typescript ts|need require|needs requires|use utilise utilize
        uses utilises utilizes|kept retained|keeps retains|called named|get receive|gets receives|until till
        two 2|three 3|four 4|five 5|six 6|seven 7|eight 8|nine 9|ten 10|eleven 11|twelve 12|s second sec 2nd
        seconds secs|first 1st|third 3rd|minutes mins|around about approximately|colour color|favourite favorite
        behaviour behavior|licence license|organisation organization|centre center""".replace("\n", "|").split("|"),
    )
    for word in words
}

Form = tuple[object, ...]
"""What is compared, and nothing else: it is not shown."""


class _Word(NamedTuple):
    text: str
    starts: bool  # a noun phrase
    ends: bool


def form(text: str, told: datetime) -> Form:
    """Of a text that was told at this moment. Two texts agree when theirs are equal."""
    if len(text) > LONGEST:
        return (text,)
    plain = unicodedata.normalize("NFKC", text).replace("’", "'").replace(_DATE, " ")
    return tuple(_stated(one, told) for one in _SENTENCE.split(plain) if one.strip())


def _stated(sentence: str, told: datetime) -> Form:
    asks = "?" in sentence
    sentence, dates = _without_dates(sentence, told)
    for pattern, said in _SAID_AS:
        sentence = pattern.sub(said, sentence)
    words = _of_turned(_words(sentence))
    kept = [one.text for one in _in_the_present(words) if one.text not in _LEFT_OUT]
    same = [_SAME.get(one, one) for one in kept]
    if len(dates) == 1 and _DATE in same:
        place = same.index(_DATE)
        begin = place - 1 if place and same[place - 1] in _BEFORE_DATES else place
        same = [*same[:begin], *same[place + 1 :], "", *same[begin:place]]
    day = told.date().isoformat() if _RELATIVE.search(" ".join(one.text for one in words)) else ""
    return (*same, asks, day, *dates)


def _without_dates(sentence: str, told: datetime) -> tuple[str, list[object]]:
    """What names a date stands apart: as which time it is and, unless it says the year itself, in which words."""
    found: list[object] = []
    if not _MAY_NAME_A_DATE.search(sentence) or _COMES_AGAIN.search(sentence):
        return sentence, found
    for one in periods(sentence, told):
        at = sentence.find(one.text)
        if at < 0:
            continue
        sentence = f"{sentence[:at]} {_DATE} {sentence[at + len(one.text) :]}"
        words = " ".join(map(str.casefold, re.findall(r"\w+", one.text)))
        found.append((one.start, one.end, "" if re.fullmatch(_CALENDAR, words) else words))
    return sentence, found


def _words(sentence: str) -> list[_Word]:
    """As they are compared: without case, unless a word of grammar is written as a name ("US", "plan A")."""
    shouted = sentence.isupper()
    made: list[_Word] = []
    starts = True
    tokens = [one.lstrip(_OPENING).rstrip(_CLOSING) or one for one in sentence.split()]
    for place, (written, raw) in enumerate(zip(tokens, sentence.split(), strict=True)):
        folded = written.casefold()
        follows = tokens[place + 1].casefold() if place + 1 < len(tokens) else "of"
        if folded in _FUNCTIONS and written != folded and place and not shouted and written != "I":
            made.append(_Word(written, starts, False))
        elif folded in ("a", "an") and (follows in _ENDS or follows in ("few", "little")):
            made.append(_Word(f"{written}.", starts, False))  # the name of something, or "a few", which are not few
        elif united := _UNITED.fullmatch(written):  # "2GB" is 2 GB
            made += [_Word(one, starts, False) for one in united.groups()]
        elif _SPELLED.search(written) or (made and made[-1].text[-1].isdigit() and len(written) <= UNIT):
            made.append(_Word(written, starts, folded in _ENDS))
        elif written.strip(_CLOSING):
            made.append(
                _Word(folded.replace(",", "") if _THOUSANDS.fullmatch(folded) else folded, starts, folded in _ENDS)
            )
        starts = folded in _ENDS or folded in _ARTICLES or raw.endswith((",", ";", ":"))
    return made


def _of_turned(words: list[_Word]) -> list[_Word]:
    """ "The owner of the billing service" is "the billing service owner"."""
    for place, word in enumerate(words):
        if word.text != "of" or not place or words[place - 1].text[:1].isdigit():
            continue
        begin = next((at for at in range(place - 1, -1, -1) if words[at].starts or words[at].ends), 0)
        end = next((at for at in range(place + 1, len(words)) if words[at].ends), len(words))
        owned, owner = words[begin:place], words[place + 1 : end]
        if begin and words[begin - 1].text not in _ARTICLES and not words[begin - 1].ends:
            continue
        followed = end < len(words) and words[end].text in _BEING
        if owner and owned and followed and not any(one.ends for one in owned) and _is_definite(words, begin):
            return [*words[:begin], *owner, *owned, *words[end:]]
    return words


def _is_definite(words: list[_Word], begin: int) -> bool:
    """ "The name of", not "names of" or "all of": those say how many."""
    return words[begin].text in ("the", "our") or (begin > 0 and words[begin - 1].text in ("the", "our"))


def _in_the_present(words: list[_Word]) -> list[_Word]:
    """ "Is listening" says what "listens" says."""
    made = list(words)
    for place in range(1, len(words)):
        be, word = words[place - 1].text, words[place].text
        if be in _PRESENT and len(word) > 4 and word.endswith("ing") and word.isalpha():
            base = _base(word[:-3])
            made[place] = words[place]._replace(text=_third(base) if be == "is" else base)
    return made


def _base(cut: str) -> str:
    """Of what is left of a verb without "-ing". Where it is wrong, two texts do not agree that could."""
    if len(cut) > 2 and cut[-1] == cut[-2] and cut[-1] not in "lsfz":
        return cut[:-1]
    short = re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", cut)
    return f"{cut}e" if short or re.search(r"(?:at|iz|iv|ut|ur|uc|us|as|ag|ir|ar|id|v|c|rg|dg|ns|u)$", cut) else cut


def _third(base: str) -> str:
    if base.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{base}es"
    return f"{base[:-1]}ies" if re.search(r"[^aeiou]y$", base) else f"{base}s"
