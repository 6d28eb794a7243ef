"""Whom or what a clause is about, with what was named before it in mind."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent_memory.core.upkeep.extract.names import known
from agent_memory.core.upkeep.extract.values import WE, Claimed, Said
from agent_memory.core.upkeep.extract.wording import NAME, RELATIVES

GOES_ON = "\x00"
"""Stands for the subject of the clause before: "I live in Rome and work at …"."""
RELATIVE = "|".join(RELATIVES)
ARTICLE = re.compile(r"^(?:the|our|an?) ", re.I)
_NOBODY = re.compile(
    r"^(?:their|his|her|its|other|another|my other|some|many|most|two)\b|\b(?:that|which|who|because|and|or|to"
    r"|not|I|is|are|was|were|am|do|does|did|if|there|here|nobody|nothing|none|no|what|how|this|these|those"
    r"|everything|everyone|everybody|someone|something|anyone|you|your|has|have|will|we|neither|of course|all|only)\b",
    re.I,
)


class ClaimSubject(NamedTuple):
    name: str
    of: str  # person, thing, we


class Clauses(NamedTuple):
    """One turn as far as it was read: what pronouns and corrections go back to."""

    said: Said
    claims: list[Claimed]
    person: list[str]
    thing: list[str]


def subject_of(said: str, before: str | None, people: set[str], so_far: Clauses) -> ClaimSubject | None:
    """Whom or what a clause is about; None where that is nobody in particular."""
    said = said.strip()
    low = said.lower()
    if said == GOES_ON:
        return _kind_of(before, people, so_far) if before else None
    if low == "i":
        return ClaimSubject(so_far.said.speaker, "person")
    if low == "we":
        return ClaimSubject(WE, "we")
    if low in ("he", "she"):
        return ClaimSubject(so_far.person[-1], "person") if so_far.person else None
    if low == "it":
        return ClaimSubject(so_far.thing[-1], "thing") if so_far.thing else None
    if match := re.match(rf"my (?:{RELATIVE}) (?P<name>(?-i:{NAME}))$", said, re.I):
        return ClaimSubject(match["name"], "person")
    if low.startswith("my "):
        if re.fullmatch(
            rf"my (?:name|birthday|email(?: address)?|phone number|address|favou?rite .*|{RELATIVE})(?:'s .*"
            rf"| is .*)?",
            low,
        ):
            return ClaimSubject(so_far.said.speaker, "person") if low == "my name" else None
        return _named_thing(f"{so_far.said.speaker}'s {said[3:]}", so_far)
    if said in people or (known().get(said) == "person") or re.match(r"(?:Dr|Prof)\. ", said):
        so_far.person.append(said)
        return ClaimSubject(said, "person")
    return _named_thing(bare(said), so_far)


def _kind_of(name: str, people: set[str], so_far: Clauses) -> ClaimSubject:
    if name == WE:
        return ClaimSubject(WE, "we")
    person = name == so_far.said.speaker or name in people or name in so_far.person
    return ClaimSubject(name, "person" if person else "thing")


def _named_thing(said: str, so_far: Clauses) -> ClaimSubject | None:
    if not said or len(said.split()) > 6 or _NOBODY.search(said) or not re.match(r"[\w#]", said) or "," in said:
        return None
    if said.lower() in ("they", "he", "she", "that", "one", "things", "stuff", "people", "code", "work", "life"):
        return None
    so_far.thing.append(said)
    return ClaimSubject(said, "thing")


def bare(said: str) -> str:
    return ARTICLE.sub("", said.strip()).strip()
