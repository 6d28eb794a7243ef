"""SQL statements have names and live in statements.sql: `SQL["insert_version"]`."""

from __future__ import annotations

import re
from importlib import resources


def load(package: str, file: str) -> dict[str, str]:
    """Split a file at its `-- name: …` lines."""
    text = (resources.files(package) / file).read_text("utf-8")
    parts = re.split(r"^-- name: (\w+)\s*$", text, flags=re.MULTILINE)[1:]
    return {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}


SQL = load("agent_memory.engines.sqlite", "statements.sql")
VECTORS_PER_LINE = 65536
"""How a vector's number tells the journal line that brought it."""
