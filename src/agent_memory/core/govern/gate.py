"""Where it is decided what may be written: every change to records passes here, whoever asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from agent_memory.ports.changes import Author, Change, EraseTenant

C = TypeVar("C", bound=Change | EraseTenant)


class Gate(Protocol):
    def decide(self, changes: Sequence[C], author: Author) -> Sequence[C]:
        """The changes of one write as they may be made, one for one and in their order: as they are, without what
        should not be kept, or held for review. An error lets none of them in. That a whole tenant is erased comes
        alone, and is decided as it is."""
        ...


class Open:
    """Lets everything in as it is."""

    def decide(self, changes: Sequence[C], author: Author) -> Sequence[C]:
        return changes
