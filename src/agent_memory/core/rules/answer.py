"""Yes, no or maybe. A command says some things only when it runs, so a rule about it has three answers; who asks
decides what a maybe means: it counts against an action, and never for an exception."""

from __future__ import annotations

from enum import IntEnum


class Answer(IntEnum):
    """NO < MAYBE < YES: `max` is "any of them", `min` is "all of them"."""

    NO = 0
    MAYBE = 1
    YES = 2
