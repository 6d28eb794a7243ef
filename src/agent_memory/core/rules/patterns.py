"""Whether a code span can be a pattern at all: what the matchers say of it, before anything is matched."""

from __future__ import annotations

LONGEST = 2000


def refused(span: str, key: str) -> str | None:
    """Why it cannot be a pattern under this key; None if it can."""
    try:
        _try(span, key)
    except ValueError as error:
        return str(error)
    return None


def _try(span: str, key: str) -> None:
    import re2

    if not span.strip() or len(span) > LONGEST:
        raise ValueError("the pattern is empty or too long")
    if len(span) > 2 and span.startswith("/") and span.endswith("/"):
        options = re2.Options()
        options.log_errors = False
        try:
            re2.compile(span[1:-1], options)
        except re2.error as error:
            raise ValueError(f"the pattern {span} cannot be used: {error}") from None
