"""Names in a sentence and what they are names of: by a list, by their shape, and by what stands around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import NamedTuple, cast

from agent_memory.core.upkeep.extract.sentences import SaidSentence
from agent_memory.core.upkeep.extract.values import EntityType, NamedEntity
from agent_memory.core.upkeep.extract.wording import OFFICES, ROLES

IGNORED = "ignored"
LONGEST_NAME = 4  # words
_WORD = r"[^\W\d_][\w.'’&+#-]{0,40}"
_TOKEN = re.compile(r"[^\W_](?:[\w.'’&+#/-]{0,60}[\w+#])?")
_VERSION = re.compile(r" v?\d{1,4}(?:\.\d{1,4}){0,3}(?![\w.]*\w)")
_SUFFIXES = (
    "service api worker db database gateway job queue cache proxy server importer exporter main replica web ui frontend"
    " backend core bot cli sdk daemon agent scheduler runner check store index cluster app batch sync"
)
_IDENTIFIER = re.compile(
    rf"(?<![\w/.-])(?:[a-z][a-z0-9]{{0,30}}(?:-[a-z0-9]{{1,30}}){{0,4}}-(?:{'|'.join(_SUFFIXES.split())}|\d{{1,4}})"
    r"|(?:pg|db|k8s|api|svc)-[a-z0-9-]{1,30}|[a-z]{2,12}-(?:north|south|east|west|central)[a-z]{0,8}-\d"
    r"|[a-z][a-z0-9]{1,30}(?:_[a-z0-9]{1,30}){1,5})(?![\w/(-]|\.\w)"
)
_TEAM = re.compile(rf"\b(?:the|our|on(?! (?:the|our) )) (?P<name>{_WORD}(?: {_WORD})?) team\b", re.I)
_SERVICE = re.compile(r"\b(?:the|our) (?P<name>(?P<which>[a-z][a-z0-9-]{1,30}) service)\b", re.I)
_NO_TEAM = frozenset("whole entire same other new old best first own rest only this that my your their".split())
_NO_SERVICE = _NO_TEAM | frozenset("slow web each every great room customer public secret".split())
_PERSON_AFTER = re.compile(
    rf"\s+(?:(?:also|just|now|still|always|really) )?(?:says|said|thinks|told|leads|manages|owns|lives|likes"
    rf"|works|joined|left|moved|reports"
    rf"|is (?:on call|on holiday|on leave|getting|married|my|our|an? {ROLES}|the {OFFICES})|was born|has been"
    rf"|wrote|asked|met|objects|speaks|studied|reviewed)\b",
    re.I,
)
_BEFORE: Sequence[tuple[re.Pattern[str], EntityType]] = tuple(
    (re.compile(rf"(?:^|\W)(?:{words})\s+$", re.I), cast(EntityType, type))
    for words, type in (
        (
            r"(?:sister|brother|wife|husband|son|daughter|mother|father|partner|friend|boss|manager|colleague|dog"
            r"|cat|cousin"
            r"|uncle|aunt|neighbou?r|girlfriend|boyfriend|flatmate|mentor)(?:'s name)?(?: (?:is"
            r"|was))?(?: (?:called|named))?"
            r"|named|called|call me|(?:my )?name is|married to|report(?:s)? to|meet(?:ing)? with|met|with my \w+"
            r"|seen|saw|hired",
            "person",
        ),
        (
            r"work(?:s|ed|ing)? (?:at|for)|joined|left|employed (?:at|by)|CEO of|CTO of|CFO of|head of"
            r"|founder of"
            r"|contract with|job at|started at|studied at|graduated from|talks? to|engineer at|developer at"
            r"|designer at|hosted by"
            r"|bought by|at|drive an old|drive a",
            "organization",
        ),
        (
            r"in|near|(?:am|is|are|was|were|be|['’](?:m|s|re)|comes?|came|originally|back|travell?ed|flew"
            r"|(?:I|he|she) (?:just )?moved) from"
            r"|(?:moved?|relocated?|flight|trip|travel(?:s|led)?|went|go|going|been|drive|drove|flew) to"
            r"|(?:(?:I|he|she) (?:just )?moved|relocated|flew|drove|travell?ed) from [\w ]{1,20} to"
            r"|capital of|visit(?:ed|ing)?",
            "place",
        ),
        (
            r"us(?:e|es|ed|ing)|on top of|written in|run(?:s|ning)? on|(?:migrated|switched|moved) (?:from|to)"
            r"|(?:built|deploys?|replaced|tests?) with|version of",
            "technology",
        ),
    )
)


@cache
def known() -> Mapping[str, str]:
    """name -> type, as the list says."""
    found: dict[str, str] = {}
    type = ""
    for line in files(__package__).joinpath("names.txt").read_text("utf-8").splitlines():
        if line.startswith("["):
            type = line.strip("[]")
        elif not line.startswith("#"):
            for name in line.split(","):
                found.setdefault(name.strip(), type)
    return MappingProxyType(found)


class _Span(NamedTuple):
    start: int
    end: int


def named(sentence: SaidSentence) -> list[NamedEntity]:
    """The names of a sentence, in order. A stretch of it is part of one name only: the first way to see one wins."""
    taken: list[_Span] = []
    found: list[NamedEntity] = []
    for one in (*_shaped(sentence.text), *_listed(sentence.text), *_capitalised(sentence.text)):
        if all(one.end <= other.start or other.end <= one.start for other in taken):
            taken.append(_Span(one.start, one.end))
            if one.type != IGNORED:
                found.append(one._replace(start=one.start + sentence.start, end=one.end + sentence.start))
    return sorted(found, key=lambda one: one.start)


def _shaped(said: str) -> Iterator[NamedEntity]:
    for match in _IDENTIFIER.finditer(said):
        yield NamedEntity(match[0], "service", match.start(), match.end())
    for match in _TEAM.finditer(said):
        if match["name"].lower().split()[0] not in _NO_TEAM:
            yield NamedEntity(match["name"], "team", match.start("name"), match.end("name"))
    for match in _SERVICE.finditer(said):
        if match["which"].lower() not in _NO_SERVICE:
            yield NamedEntity(match["name"], "service", match.start("name"), match.end("name"))


def _listed(said: str) -> Iterator[NamedEntity]:
    """The longest first. A technology takes its version along; a word that may be an ordinary one ("go", "make") counts
    only with its capital, and not where a sentence begins with it."""
    tokens = list(_TOKEN.finditer(said))
    for length in range(LONGEST_NAME, 0, -1):
        for place in range(len(tokens) - length + 1):
            start, end = tokens[place].start(), tokens[place + length - 1].end()
            name = said[start:end]
            bare = re.sub(r"['’]s$", "", name)
            type = known().get(bare)
            if type is None or (place == 0 and bare in _ORDINARY):
                continue
            end -= len(name) - len(bare)
            if type == "place" and length == 1 and bare in _ALSO_FIRST_NAMES and _is_person(said, start, end):
                type = "person"
            if type == "technology" and (version := _VERSION.match(said, end)):
                end = version.end()
            yield NamedEntity(said[start:end], cast(EntityType, type), start, end)


_ORDINARY = frozenset(
    """
    Go Make Black Chef Teams Linear Notion Express Spring Node Flux Prefect Puppet Spark Helm Bun Rails Orange Shell
    Nice Max Mark Will REST Grace Jack Orange
""".split()
)
_ALSO_FIRST_NAMES = frozenset("Sofia Sydney Florence Austin Jordan Victoria Charlotte Paris Chad".split())


def _is_person(said: str, start: int, end: int) -> bool:
    return bool(_PERSON_AFTER.match(said, end)) or _before(said, start) == "person"


def _capitalised(said: str) -> Iterator[NamedEntity]:
    """Runs of words with capitals that nothing is known of."""
    words = list(re.finditer(rf"(?<!\d)(?:(?:Dr|Prof)\. )?{_WORD}", said))  # the unit in "512Mi" is no name
    at = 0
    while at < len(words):
        run = [words[at]]
        while (
            run[0][0][0].isupper()
            and at + len(run) < len(words)
            and len(run) < LONGEST_NAME
            and words[at + len(run)][0][0].isupper()
            and said[run[-1].end() : words[at + len(run)].start()] == " "
            and known().get(words[at + len(run)][0]) is None
        ):
            run.append(words[at + len(run)])
        start, end = run[0].start(), run[-1].end()
        name = re.sub(r"(?:['’]s|[.'’-]+)$", "", said[start:end])
        if (first := name.split(" ")[0]) in _CALLS and " " in name:  # "Wow Dave"
            name, start = name[len(first) + 1 :], start + len(first) + 1
        at += len(run)
        if (
            len(name) > 1
            and name[0].isupper()
            and not _SHORTENED.search(name)
            and (type := _guessed(said, name, start))
        ):
            yield NamedEntity(name, type, start, start + len(name))


def _guessed(said: str, name: str, start: int) -> EntityType | None:
    """What an unknown name is a name of. Where a sentence begins every word has a capital: only a person who does
    something is sure enough."""
    end = start + len(name)
    begins = start == 0 or (
        re.search(r"[.!?:,\"“]\s*$|^\W+$", said[:start]) is not None and not said[:start].rstrip().endswith(",")
    )
    if _PERSON_AFTER.match(said, end) and name.split()[0] not in _FUNCTION:
        return "person"
    if _CAMEL.search(name) or "  " in (said[max(0, start - 2) : start], said[end : end + 2]):  # a column of a table
        return None
    if begins and not name.startswith(("Dr.", "Prof.")) and " " not in name:
        return None
    if re.fullmatch(r"[A-Z][A-Z0-9]{1,9}-\d+", name):  # a ticket
        return None
    if re.fullmatch(r"[A-Z]{2,}s?", name) and _before(said, start) is None:
        return None
    if name.split()[0] in _FUNCTION:
        return None
    return _before(said, start) or "person"


_CAMEL = re.compile(r"(?<!Mac)(?<=[a-z]{2})[A-Z]|[A-Z]{3}[a-z]{2}")  # CheckoutLatencyHigh, OOMKilled
_SHORTENED = re.compile(r"\bI\b|['’](?:m|ll|ve|re|d|t)\b", re.I)  # "I'll" is no name, but pronouns have capitals
_CALLS = frozenset(
    """
    Wow Yeah Bye Hey Hi Hello Thanks Woah Whoa Yes No Oh Ok Okay Sorry Dear Congrats Well So And But Ask Tell Lately
    Maybe Whenever
""".split()
)
_FUNCTION = frozenset(
    """
    The This That These Those It He She They We You My Our Your His Her Their There Here What Who Where When Why
    How If And But Or So Not Now Then Please Also Actually Because Since After Before Today Yesterday Tomorrow
    Nobody Everyone Someone Maybe Perhaps Good Happy Nothing Everything Wait Scratch Production Staging
    """.split()
)


def _before(said: str, start: int) -> EntityType | None:
    return next((type for words, type in _BEFORE if words.search(said[max(0, start - 40) : start])), None)
