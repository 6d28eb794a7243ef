"""Where it is decided what may be written: every change to records passes here, whoever asked for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from agent_memory.models.errors import AgentMemoryError, Denied, WriteRefused
from agent_memory.ports.changes import Author, Change, EraseTenant

C = TypeVar("C", bound=Change | EraseTenant)


class Gate(Protocol):
    def decide(self, changes: Sequence[C], author: Author) -> Sequence[C]:
        """The changes of one write as they may be made, one for one and in their order: as they are, without what
        should not be kept, or held for review. An error lets none of them in; `Denied` says why. That a whole tenant
        is erased comes alone, and is decided as it is."""
        ...


class Gates:
    """Several gates by their names, each deciding about what the one before let in. One that breaks lets nothing in.
    `refused` is told whose write it was and which gate it met, never what was to be written."""

    def __init__(self, gates: Sequence[tuple[str, Gate]], refused: Callable[[Author, str], None]) -> None:
        self._gates = gates
        self._refused = refused

    def decide(self, changes: Sequence[C], author: Author) -> Sequence[C]:
        for name, gate in self._gates:
            try:
                changes = gate.decide(changes, author)
            except Denied as error:
                self._refused(author, f"the gate {name!r} refused a write")
                raise WriteRefused(error.message, hint=error.hint, field=error.field) from error
            except AgentMemoryError:  # such as a store that is busy: not a decision
                raise
            except Exception as error:  # whatever a plug-in raises, which may quote the text
                broken = f"the gate {name!r} broke ({type(error).__name__})"
                self._refused(author, broken)
                raise WriteRefused(broken, hint="nothing was written; correct the gate, or uninstall it") from error
        return changes
