"""SQL statements have names and live in .sql files, one for each topic: `SQL["insert_versions"]`."""

from __future__ import annotations

import re
from importlib import resources


def load(*topics: str) -> dict[str, str]:
    """Split files at their `-- name: …` lines. `{{name}}` stands for the statement of that name, which came before;
    what is in single braces is the caller's to fill in."""
    found: dict[str, str] = {}
    for topic in topics:
        text = (resources.files("agent_memory.engines.postgres") / f"{topic}.sql").read_text("utf-8")
        parts = re.split(r"^-- name: (.+)$", text, flags=re.MULTILINE)[1:]
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            found[name] = re.sub(r"{{(\w+)}}", lambda known: found[known[1]], body.strip().rstrip(";"))
    return found


SQL = load(
    *"database journal desk namespaces access feed debts receipts storage".split(),
    *"read words spaces present write erase stock views proof tenants".split(),
)
