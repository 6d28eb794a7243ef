"""How an expression is told from plain text, wherever a pattern may be either: it is written `/…/`."""

from __future__ import annotations


def is_expression(span: str) -> bool:
    """Whether a span is `/…/`, a regular expression (RE2)."""
    return len(span) > 2 and span.startswith("/") and span.endswith("/")
