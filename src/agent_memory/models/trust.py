"""Where a text comes from says how far it is trusted. P8, P23."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from types import MappingProxyType


class Trust(StrEnum):
    """From the most trusted to the least: what the user said, what this program made of that, what a model made, and
    what comes from outside: tools, other agents, the web, and whatever nobody here knows."""

    USER = "user"
    OWN = "own"
    MODEL = "model"
    TOOL = "tool"
    AGENT = "agent"
    WEB = "web"
    UNKNOWN = "unknown"

    @property
    def foreign(self) -> bool:
        return _ORDER[self] > _ORDER[Trust.MODEL]


_ORDER = {one: place for place, one in enumerate(Trust)}
_BY_SOURCE = MappingProxyType(
    {
        **dict.fromkeys(("user", "user_stated", "file", "page"), Trust.USER),
        **dict.fromkeys(("system", "operational", "archive", "extract"), Trust.OWN),
        **dict.fromkeys(("assistant", "model", "agent", "extraction", "inferred", "proposed"), Trust.MODEL),
        "tool": Trust.TOOL,
        "web": Trust.WEB,
    }
)


def trust_of(source: str) -> Trust:
    """Of a record's `source`: a word, or a word and a name, as in `web:example.org`. `agent` is the user's own agent,
    `agent:NAME` another one. A name makes nothing the user's own: anybody can write one."""
    word, named, _ = source.partition(":")
    found = _BY_SOURCE.get(word, Trust.UNKNOWN)
    if not named:
        return found
    return Trust.AGENT if word == "agent" else found if found.foreign else least((found, Trust.MODEL))


def least(trusts: Iterable[Trust]) -> Trust:
    """What was made of several texts is trusted as the least of them."""
    return max(trusts, key=_ORDER.__getitem__)
