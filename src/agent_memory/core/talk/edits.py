"""Edits of a block's text. Pure: a text and what is wanted give a text, or an error that says how to ask again."""

from __future__ import annotations

import re

from agent_memory.models.errors import InvalidInput

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def appended(text: str, more: str) -> str:
    """On a line of its own, at the end."""
    return _joined(text, more) if text else more


def replaced(text: str, old: str, new: str) -> str:
    """Where `old` stands, which must be at exactly one place."""
    places = _occurrences(text, old)
    if not places:
        raise InvalidInput(
            "old: does not occur in the block",
            hint="copy it from the block as it stands there: case, blanks and line ends count",
            field="old",
        )
    if len(places) > 1:
        raise InvalidInput(
            f"old: occurs {len(places)} times in the block, and must occur exactly once",
            hint="give more of the text around the place that is meant",
            field="old",
        )
    return text[: places[0]] + new + text[places[0] + len(old) :]


def inserted(text: str, more: str, line: int) -> str:
    """After this line; after line 0 is before the first."""
    lines = _LINE.findall(text)
    if not 0 <= line <= len(lines):
        raise InvalidInput(
            f"line: {line}; the block has {len(lines)} lines",
            hint=f"use 0 (before the first line) to {len(lines)} (after the last)",
            field="line",
        )
    before, after = "".join(lines[:line]), "".join(lines[line:])
    first = appended(before, more)
    return _joined(first, after) if after else first


def _joined(first: str, second: str) -> str:
    return f"{first}{second}" if first.endswith("\n") else f"{first}\n{second}"


def _occurrences(text: str, wanted: str) -> list[int]:
    """Also those that overlap: "aa" is at two places in "aaa"."""
    found, at = [], text.find(wanted)
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + 1)
    return found
