"""How much a JSON text holds, told before it is read. Whoever reads one holds the interpreter until it is done, and
that takes as long as it has values, whatever they are: a million keys in 14 MB stop everybody else for a second.
"""

from __future__ import annotations

from agent_memory.models.errors import InvalidInput

MOST_VALUES = 200_000
"""Of one text: 40,000 records of a batch with three fields each."""


def weigh(text: bytes) -> int:
    """How many values it has at most, as soon as that is more than anybody may send: strings (keys are some, too), what
    commas part, lists and objects. Commas inside strings do not count."""
    if len(text) <= MOST_VALUES:
        return len(text)
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    if (strings := bare.count(b'"') // 2) > 2 * MOST_VALUES:
        return strings
    outside = b"".join(bare.split(b'"')[::2])
    return sum(outside.count(mark) for mark in (b",", b"[", b"{")) + 1


def too_heavy(text: bytes) -> InvalidInput | None:
    """What to tell its sender, if it has more values than a server reads at once."""
    if weigh(text) <= MOST_VALUES:
        return None
    return InvalidInput(f"the JSON has more than {MOST_VALUES} values", hint="send it in several parts")
