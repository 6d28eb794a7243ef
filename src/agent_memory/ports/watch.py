"""What an engine tells of its connections while it works, for whoever counts them."""

from __future__ import annotations

from typing import Literal, Protocol

State = Literal["in_use", "idle", "waiting", "most"]
"""Connections that somebody uses, that wait to be used, callers that wait for one, and how many there may be."""
Wait = Literal["connection", "head"]
"""What is waited for: a free connection, or the head of a tenant's journal, which one writer has at a time."""


class Watch(Protocol):
    """Told from any thread, often: it must be quick, and never fail."""

    def connections(self, state: State, change: int) -> None: ...

    def waited(self, what: Wait, seconds: float) -> None: ...

    def gave_up(self, what: Wait) -> None:
        """It took too long: the call is answered with `Busy`."""
        ...


class Unwatched:
    """Nobody counts."""

    def connections(self, state: State, change: int) -> None: ...

    def waited(self, what: Wait, seconds: float) -> None: ...

    def gave_up(self, what: Wait) -> None: ...
