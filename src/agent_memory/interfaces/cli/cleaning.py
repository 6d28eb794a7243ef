"""Foreign text is data: what would move a terminal's cursor, colour it or turn its text round is spelled out."""

from __future__ import annotations

import re

# C0 and C1 controls but newline and tab, the line separators, and the marks that reorder text (bidi).
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_NAMES = {"\r": "\\r", "\x0b": "\\v", "\x0c": "\\f"}


def clean(text: str) -> str:
    """Safe to print; newlines and tabs stay."""
    return _UNSAFE.sub(_spelled, text)


def one_line(text: str) -> str:
    """Safe to print in a row of a table."""
    return clean(" ".join(text.split()))


def cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def clean_json(text: str) -> str:
    """The same JSON, with everything unsafe as an escape. It can only occur inside strings."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    return _NAMES.get(match.group()) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
