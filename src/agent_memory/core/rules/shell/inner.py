"""What stands inside a command: another command, or a script for a shell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from agent_memory.core.rules.shell.words import Word


@dataclass(frozen=True)
class InnerCommand:
    """Words that are run as a command. Not `certain`: another reading is possible. `doubt`: and so is anything."""

    words: tuple[Word, ...]
    certain: bool = True
    doubt: str | None = None


@dataclass(frozen=True)
class Script:
    """A text that a shell reads: `bash`, another one (False), or the one that reads what stands around it (None)."""

    text: Word
    certain: bool = True
    doubt: str | None = None
    bash: bool | None = False


Inner = InnerCommand | Script


def joined(words: Sequence[Word]) -> Word:
    """Words with blanks between them, as `eval` and `ssh` put them together."""
    flat: list[str | None] = []
    for word in words:
        flat += ([" "] if flat else []) + list(word.parts if not word.spreads else (None,))
    parts: list[str | None] = []
    for known, run in groupby(flat, lambda part: part is not None):
        parts.append("".join(part or "" for part in run) if known else None)
    return Word(tuple(parts) or ("",))
