"""Whether a code span can be a pattern at all: what the matchers say of it, before anything is matched."""

from __future__ import annotations

from agent_memory.core.rules.text import expression, is_expression, matcher
from agent_memory.models.rules import Subject

COMMANDS = (Subject.COMMAND, "with")


def refused(span: str, key: str) -> str | None:
    """Why it cannot be a pattern under this key; None if it can. What `unless` excepts from is not known here, so
    only its regular expressions are tried."""
    try:
        if key in COMMANDS:
            from agent_memory.core.rules.commands import refused as no_command

            return no_command(span, key)
        if key != "unless":
            matcher(span, key)
        elif is_expression(span):
            expression(span)
    except ValueError as error:
        return str(error)
    return None if span.strip() else "the pattern is empty: write what it should match"
