"""A claim as a sentence that stands alone: "ada does not work at Siemens", "ada's sister is Anna"."""

from __future__ import annotations

import re

from agent_memory.core.upkeep.extract.values import WE, Claimed
from agent_memory.core.upkeep.extract.wording import RELATIVES

_OF = re.compile(rf"(?:{'|'.join(RELATIVES)}|birthday|email(?: address)?|phone number|address|favourite .+)$")
_BE = re.compile(r"(is|are|was|were)\b")
_ONE = re.compile(r"(?:[^s]|ss)$", re.I)
_PAST = ("decided", "migrated", "launched", "grew", "took", "studied")


def told(claim: Claimed, dated: str = "") -> str:
    """`dated`: the day that its words mean, which they tell only on the day when they were said."""
    subject, predicate = claim.subject, claim.predicate
    if _OF.match(predicate):
        subject, predicate = f"{subject}'s {predicate}", "is"
    verb, _, rest = predicate.partition(" ")
    if rest.startswith("for "):  # "we use Postgres 16 for billing"
        return told(claim._replace(predicate=verb, object=f"{claim.object} {rest}"), dated)
    if verb == "are" and subject != WE and _ONE.search(subject):  # "are kept in" is what the predicate is called
        verb = "is"
    elif verb == "is" and subject == WE:
        verb = "are"
    if claim.negated:
        verb = _denied(verb, subject)
    elif subject == WE and not _BE.match(verb) and verb not in _PAST:
        verb = _plain(verb)
    return " ".join(part for part in (subject, verb, rest, claim.object, dated) if part)


def _denied(verb: str, subject: str) -> str:
    if _BE.match(verb):
        return f"{verb} not"
    if verb in _PAST:
        return f"never {verb}"
    return f"{'do' if subject == WE else 'does'} not {_plain(verb)}"


def _plain(verb: str) -> str:
    """Without the ending of the third person."""
    if verb in ("has", "goes"):
        return {"has": "have", "goes": "go"}[verb]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb
