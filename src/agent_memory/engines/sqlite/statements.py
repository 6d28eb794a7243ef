"""SQL statements have names and live in statements.sql: `SQL["insert_version"]`."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources


@cache
def load(package: str, file: str) -> dict[str, str]:
    """Split a file at its `-- name: …` lines."""
    text = (resources.files(package) / file).read_text("utf-8")
    parts = re.split(r"^-- name: (\w+)\s*$", text, flags=re.MULTILINE)[1:]
    return {name: body.strip().rstrip(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}


class Statements:
    """Read on first use: importing the engine reads no file."""

    def __getitem__(self, name: str) -> str:
        return load("agent_memory.engines.sqlite", "statements.sql")[name]


SQL = Statements()
