"""SQL statements of an engine have names and live in .sql files beside it, one for each topic."""

from __future__ import annotations

import re
from importlib import resources


def load(package: str, *topics: str) -> dict[str, str]:
    """Split files at their `-- name: …` lines. `{{name}}` stands for the statement of that name, which came before;
    what is in single braces is the caller's to fill in."""
    found: dict[str, str] = {}
    for topic in topics:
        text = (resources.files(package) / f"{topic}.sql").read_text("utf-8")
        parts = re.split(r"^-- name: (.+)$", text, flags=re.MULTILINE)[1:]
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            found[name] = re.sub(r"{{(\w+)}}", lambda known: found[known[1]], body.strip().rstrip(";"))
    return found
