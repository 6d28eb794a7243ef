"""Foreign text for a terminal: in one line, cut, and as JSON. `visible` spells out what would drive the terminal."""

from __future__ import annotations

from agent_memory.models.visible import spelled, visible


def one_line(text: str) -> str:
    """Safe to print in a row of a table."""
    return visible(" ".join(text.split()))


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def clean_json(text: str) -> str:
    """The same JSON, with everything unsafe as an escape. It can only occur inside strings."""
    return spelled(text, _escaped)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
