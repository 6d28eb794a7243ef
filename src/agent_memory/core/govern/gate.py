"""Where it is decided what may be written: every change to records passes here, whoever asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from agent_memory.ports.changes import Author, Change


class Gate(Protocol):
    def decide(self, changes: Sequence[Change], author: Author) -> Sequence[Change]:
        """The changes of one write as they may be made, one for one and in their order: as they are, without what
        should not be kept, or held for review. An error lets none of them in."""
        ...


class Open:
    """Lets everything in as it is."""

    def decide(self, changes: Sequence[Change], author: Author) -> Sequence[Change]:
        return changes
