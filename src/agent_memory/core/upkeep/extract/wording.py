"""Words of claims: how verbs say something, and what they are called in a fact. The tables of `claims.py`."""

from __future__ import annotations

import re
from typing import NamedTuple

RELATIVES = """
    sister brother wife husband son daughter mother mum mom father dad partner friend boss manager colleague
    coworker cousin uncle aunt neighbour neighbor girlfriend boyfriend flatmate roommate mentor dog cat grandmother
    grandfather nephew niece fiancée fiancé
""".split()
ROLES = (
    r"(?:[a-z-]+ ){0,3}(?:engineer|developer|programmer|designer|nurse|teacher|doctor|lawyer|scientist|manager"
    r"|analyst|architect|student|consultant"
    r"|founder|chef|cook|writer|author|accountant|researcher|professor|lecturer|administrator|admin|pilot|driver"
    r"|plumber|carpenter|electrician"
    r"|surgeon|vet|translator|editor|photographer|musician|technician|farmer|baker|judge|sre|dba|freelancer"
    r"|recruiter|librarian|[a-z]{3,15}(?:ist|ician))"
)
STATES = (
    "vegetarian|vegan|diabetic|left-handed|right-handed|colou?r-?blind|deaf|retired|single|divorced"
    "|(?:lactose|gluten)[- ]intolerant|coeliac|dyslexic"
)
STANDINGS = (
    r"deprecated|disabled|enabled|read-only|archived|frozen|retired|obsolete|end of life|on call"
    r"|on holiday|on parental leave|on leave"
)


class Verb(NamedTuple):
    """`said`: the verb as it stands after "does not", too. `of`: whom it is said of (person, thing, we, any).
    `object`: what the rest must look like. `lists`: "A and B" are two claims. `inverse`: the rest is what it is about.
    """

    said: str
    predicate: str
    of: str = "any"
    object: str = r".+"
    single: bool = False
    lists: bool = False
    inverse: bool = False
    confidence: float = 0.88
    negated: bool = False
    capital: bool = False


NAME = r"[A-ZÀ-Ý][\w.'’&-]*(?: [A-ZÀ-Ý0-9][\w.'’&-]*){0,3}"
_THING = r"[\w#./:@-]+(?: [\w#./:@-]+){0,5}"
_RATE = r"(?:every|at|on|each|hourly|daily|weekly|nightly|monthly|once|twice|once a) ?.*"
_TONGUE = r"(?:an? (?:bit|little) (?:of )?|some |fluent |and )?[A-Z]\w+"
VERBS = (
    Verb(r"(?:is|am|are) called|go(?:es)? by", "is called", object=NAME + r"|[a-z][\w-]*", single=True),
    Verb(r"(?:is|am|are) named", "is called", object=NAME + r"|[a-z][\w-]*", single=True),
    Verb(
        r"work(?:s|ing)? (?:at|for)|(?:is|am|are) (?:now )?(?:working|employed) (?:at|for|by)",
        "works at",
        "person",
        r"(?!(?:nights?|noon|home|weekends?|free|fun|myself|once|the moment|a living|\d+)\b).+",
        single=True,
    ),
    Verb(r"(?:have|has) (?:worked|been working) (?:at|for)", "works at", "person", single=True),
    Verb(
        r"(?:have |has )?joined|(?:have |has )?(?:just )?started (?:working )?(?:at|with)",
        "works at",
        "person",
        NAME,
        single=True,
    ),
    Verb(r"(?:have |has )?(?:left|quit)", "works at", "person", NAME, single=True, negated=True, capital=True),
    Verb(r"used to work (?:at|for)", "works at", "person", single=True, negated=True),
    Verb(r"used to live (?:in|near)", "lives in", "person", single=True, negated=True),
    Verb(
        r"work(?:s)? as (?:an? )?|(?:is|am) (?:an?|the) (?=(?i:{roles}))",
        "works as",
        "person",
        r"(?i:{roles})(?: at .+)?",
        single=True,
    ),
    Verb(r"(?:is|am) (?:now )?at", "works at", "person", NAME, single=True, capital=True),
    Verb(
        r"live(?:s)? (?:in|near)|(?:is|am|are) (?:now )?(?:living|based) (?:in|near)",
        "lives in",
        "person",
        r".*[A-ZÀ-Ý].*",
        single=True,
    ),
    Verb(r"(?:have|has) (?:lived|been living) (?:in|near)", "lives in", "person", r".*[A-ZÀ-Ý].*", single=True),
    Verb(
        r"(?:have |has )?(?:moved|relocated) (?:from [\w ]{1,30} )?to",
        "lives in",
        "person",
        NAME,
        single=True,
        capital=True,
    ),
    Verb(r"(?:have|has) been in", "is in", "person", NAME, single=True, capital=True),
    Verb(r"(?:have |has |was )?(?:moved|relocated) (?:from [\w ]{1,30} )?(?:to|onto)", "is on", "thing", single=True),
    Verb(
        r"(?:have|has) been working on|work(?:s)? on|(?:is|am) (?:working )?on",
        "works on",
        "person",
        r"the .{1,40} team",
        single=True,
    ),
    Verb(r"(?:was|were) born in", "was born in", "person", single=True),
    Verb(r"grew up in", "grew up in", "person", single=True),
    Verb(
        r"(?:is|am|are|come|comes) (?:originally )?from", "is from", "person", NAME + r"(?: originally)?", single=True
    ),
    Verb(r"(?:is|am|are|got) married to", "is married to", "person", NAME, single=True),
    Verb(r"report(?:s)? to", "reports to", "person", NAME, single=True),
    Verb(
        r"(?:studied|study|studies) (?:[a-z]+ (?:[a-z]+ )?)?at|graduated from", "studied at", "person", r".*[A-ZÀ-Ý].*"
    ),
    Verb(r"(?:is|am) allergic to", "is allergic to", "person", lists=True),
    Verb(
        r"speak(?:s)?",
        "speaks",
        "person",
        rf"{_TONGUE}(?:(?:, | and ){_TONGUE})*",
        lists=True,
        capital=True,
    ),
    Verb(r"plays? (?:the )?", "plays", "person", confidence=0.8),
    Verb(r"eats?", "eats", "person", confidence=0.8),
    Verb(r"drives?", "drives", "person", r"an? .+", confidence=0.8),
    Verb(
        r"(?:have|has|own|owns) (?=(?:an?|one|two|three|four|five|six) )",
        "has",
        "person",
        r"(?:an? (?:car|house|boat|bike|bicycle|motorbike|garden|{relatives})|(?:one|two|three|four|five|six) \w+)",
    ),
    Verb(r"own(?:s)?", "owns", "person", r"the .+|[a-z][a-z0-9]*(?:-[a-z0-9]+)+"),
    Verb(
        r"(?:lead|leads|is leading|runs) ",
        "leads",
        "person",
        r"(?:the|our) .{1,40}(?:team|group|department|project|chapter|guild)",
    ),
    Verb(r"manage(?:s)?", "manages", "person", r"(?:the|our) .+|" + NAME),
    Verb(r"depend(?:s)? on", "depends on", lists=True),
    Verb(r"talk(?:s)? to", "talks to", "thing", lists=True),
    Verb(r"call(?:s)?", "calls", "service", lists=True),
    Verb(r"(?:is|are) owned by|belong(?:s)? to", "is owned by", "thing", single=True),
    Verb(
        r"happens?|take(?:s)? place|(?:is|are) (?:done|made)(?= (?:on|every) )",
        "happens on",
        "thing",
        r"(?:on|every) .+",
        single=True,
    ),
    Verb(r"(?:is|are) (?:written|implemented|coded) in", "is written in", "thing", single=True),
    Verb(r"(?:is|are) (?:now )?(?:hosted|deployed) (?:on|in|at)", "is hosted on", "thing", single=True),
    Verb(r"(?:is|are) built (?:with|using)", "is built with", "thing", single=True),
    Verb(r"(?:is|are) backed by", "is backed by", "thing", single=True),
    Verb(r"(?:is|are) handled by", "is handled by", "thing", single=True),
    Verb(r"(?:is|are) (?:now )?running on|run(?:s)? on", "runs on", "thing", single=True),
    Verb(r"(?:is|are) (?:being )?used (?:for|as)(?: the)?", "uses", "thing", inverse=True),
    Verb(r"listen(?:s)? on", "listens on", "thing", single=True),
    Verb(r"(?:is|are) (?:now )?on(?= (?:the )?port )", "is on", "thing", single=True),
    Verb(r"(?:is|are) on(?= v?(?-i:[A-Z])\w+ \d)", "is on", single=True),
    Verb(r"(?:is|are) (?:kept|stored|saved) in", "are kept in", "thing", single=True),
    Verb(r"live(?:s)? in", "are kept in", "thing", single=True),
    Verb(r"(?:is|are) (?:kept|retained|stored) for", "are kept for", "thing", single=True),
    Verb(r"(?:is|are) at(?= [\w-]+\.[\w.-]+)", "is at", "thing", single=True),
    Verb(r"(?:is|are) in(?= [\w.-]+/| (?-i:[A-Z]))", "is in", "thing", single=True),
    Verb(r"expire(?:s)? on", "expires on", "thing", single=True),
    Verb(r"end(?:s)? on", "ends on", "thing", single=True),
    Verb(r"start(?:s)? on", "starts on", "thing", single=True),
    Verb(r"run(?:s)?(?= (?:every|at|on \w+day|hourly|daily|weekly|nightly))", "runs", "thing", _RATE, single=True),
    Verb(r"go(?:es)? to(?= )", "go to", "thing", r"(?:the )?(?:channel |#|queue |topic ).+", single=True),
    Verb(r"(?:is|are) set to", "is", "thing", single=True),
    Verb(r"(?:have |has )?decided (?:to|on)", "decided to", "we", r"(?!\w+day$).+(?<! it)", confidence=0.85),
    Verb(r"(?:have |has )?decided against", "decided against", "we", confidence=0.85),
    Verb(r"launched in", "launched in", single=True),
    Verb(r"deploys?(?: to production)? (?=(?:on|every) )", "deploys on", "we", r"(?:on|every) .+", single=True),
    Verb(r"deploy(?:s)? (?:with|using|via)", "deploys with", "we", single=True),
    Verb(r"(?:have |has )?(?:migrated|moved) from .{1,40}? to", "migrated to", "we", single=True),
    Verb(r"(?:have |has )?migrated to", "migrated to", "we", single=True),
    Verb(
        r"(?:no longer use|used to (?:use|run(?= (?-i:[A-Z])))|(?:have |has )?(?:stopped|quit) using"
        r"|(?:have |has )?got(?:ten)? rid of|(?:have |has )?dropped)",
        "uses",
        object=r".*[A-ZÀ-Ý].*",
        negated=True,
        lists=True,
    ),
    Verb(
        r"(?:still )?use(?:s)?|(?:is|are|am) (?:still |now )?using|run(?= (?-i:[A-Z]))",
        "uses",
        object=r"(?!more |less |fewer |\d+[KMGT]i?B?\b).*(?:[A-ZÀ-Ý]|pytest|npm|mypy|ruff|uv|dbt).*",
        lists=True,
    ),
)
STORES = re.compile(
    r"^(?P<s>.{1,60}?) stores? (?:its |the |all |their )?(?P<what>[\w-]{1,30}(?: [\w-]{1,30})?) in (?P<o>.{1,60})$"
)
SWAPPED = re.compile(
    r"^(?P<s>.{1,40}?) (?:have |has )?(?:replaced (?P<old>.{1,40}?) (?:with|by)"
    r"|switched from (?P<old2>.{1,40}?) to) (?P<new>.{1,60})$"
)
USED_FOR = re.compile(
    r"^(?P<what>.{1,40}?) (?:for|to manage) (?P<purpose>(?:the |our )?[\w-]{1,30}(?: [\w-]{1,30}){0,2})$"
)
OFFICES = (
    r"(?:\w+ ){0,2}(?:CEO|CTO|CFO|COO|head|lead|leader|captain|member|owner|founder|co-founder|author|chair"
    r"|president|director|manager|maintainer|coach|secretary|treasurer|admin)"
)
POINTING = (
    r"(?:it|them|that|this|these|those|how|when|what|him|her|his|he|she|you|your|their|they|me|us|the way"
    r"|one|ones|everything|something|anything|nothing|all|both)"
)
CONTRACTIONS = tuple(
    (re.compile(short, re.I), long)
    for short, long in (
        (r"[’]", "'"),
        (r"\b(I)'m\b", r"\1 am"),
        (r"\b(we|you|they)'re\b", r"\1 are"),
        (r"\b(\w+)'ve\b", r"\1 have"),
        (r"\bcan't\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\b(\w+)n't\b", r"\1 not"),
        (r"\b(\w+)'ll\b", r"\1 will"),
        (r"\b(I|you|we|they|he|she)'d\b", r"\1 would"),
        (r"\b(it|he|she|that|name|there|here|what)'s\b", r"\1 is"),
    )
)
