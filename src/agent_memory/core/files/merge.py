"""What a file and the memory have both changed since they last agreed. Pure.

What they agreed on is known by digests alone, made with a key that lies beside them: a memory that is forgotten leaves
no text there.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from typing import NamedTuple

from agent_memory.models.files import Side


class FileMerge(NamedTuple):
    """What is new to either side, by key (None: it goes), what both have changed, and what they agree on after it."""

    memory: dict[str, str | None]
    file: dict[str, str | None]
    conflicts: tuple[str, ...]
    agreed: dict[str, str]


def merge(
    file: Mapping[str, str],
    memory: Mapping[str, str],
    agreed: Mapping[str, str],
    secret: bytes,
    prefer: Side | None = None,
) -> FileMerge:
    """Entry by entry: what only one side has changed, the other takes. `prefer`: which side wins where both have."""
    found = FileMerge({}, {}, (), {})
    conflicts = []
    for key in sorted({*file, *memory}):
        here, there = file.get(key), memory.get(key)
        place = digest(secret, key)
        before = agreed.get(place)
        if here == there:
            winner: Side | None = "file"
        elif before == _digest(secret, there):
            winner = "file"
        elif before == _digest(secret, here):
            winner = "memory"
        else:
            winner = prefer
        if winner is None:
            conflicts.append(key)
            if before is not None:
                found.agreed[place] = before
            continue
        value = here if winner == "file" else there
        if value != there:
            found.memory[key] = value
        if value != here:
            found.file[key] = value
        if value is not None:
            found.agreed[place] = digest(secret, value)
    return found._replace(conflicts=tuple(conflicts))


def digest(secret: bytes, text: str) -> str:
    return hmac.digest(secret, text.encode(), "sha256").hex()


def _digest(secret: bytes, value: str | None) -> str | None:
    """What `agreed` holds of a side that has nothing: nothing."""
    return None if value is None else digest(secret, value)
