"""What a job is: something a store needs done now and then, and nobody asks for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from agent_memory.core.upkeep.extract.values import NamedExtractor
from agent_memory.core.upkeep.pruning import ForgettingTerms
from agent_memory.core.write.commit import Writing
from agent_memory.core.write.mirror import Mirroring
from agent_memory.ports.clock import Clock
from agent_memory.ports.embedder import Embedder
from agent_memory.ports.feed import FeedLine, Lease, Work
from agent_memory.ports.progress import LongWork
from agent_memory.ports.store import Store

SLICE = 500  # lines of a journal that are read at once
Did = Mapping[str, int]
"""What a run changed, in numbers."""


class Keeping(NamedTuple):
    """What every job needs."""

    store: Store
    writing: Writing
    mirroring: Mirroring
    clock: Clock
    embedder_of: Callable[[str], Embedder] | None = None
    """That of a namespace of vectors, by its name."""
    terms: ForgettingTerms = ForgettingTerms()
    extractors: Callable[[], Sequence[NamedExtractor]] = tuple
    """Who reads turns beside the rules."""


class JobTurn(NamedTuple):
    """One run: under this lease, which goes with everything it writes (`Work`); at this moment; and for so many seconds
    at most (None: as many as it needs)."""

    lease: Lease
    now: int
    seconds: float | None


def followed(keeping: Keeping, turn: JobTurn, name: str) -> Iterator[list[FeedLine]]:
    """New lines of all tenants, a slice at a time; the reader's cursor moves when the next is asked for. It ends with
    the lines, or with the time of the turn."""
    feed = keeping.store.feed
    until = None if turn.seconds is None else time.monotonic() + turn.seconds
    told = LongWork(name, lambda: feed.behind(name))
    while tenants := feed.news(name, limit=1):
        since = feed.cursor(name, tenants[0])
        lines = feed.lines(since, limit=SLICE)
        yield lines
        feed.advance(Work(turn.lease, since, lines[-1].cursor))
        told.one(len(lines))
        if until is not None and time.monotonic() > until:
            break
    told.end()


class Job(NamedTuple):
    """A job remembers nothing but what the store holds: `run` does what is left to do, in whichever process, and one
    that is killed or run twice loses and doubles nothing. It is run every `seconds`, by one worker at a time; where
    `more` says that some is left, again sooner.

    `left` says how much there is to do, without writing anything; where that is nothing, it is not run. Without it
    only a run can tell. `lag` says it for whoever looks, also of what this process may not do. `about`: what it is done
    for, where workers of one store do it for different things: then the lease and the last run are of that one.
    """

    name: str
    seconds: float
    run: Callable[[Keeping, JobTurn], Did]
    left: Callable[[Keeping], int] | None = None
    more: Callable[[Did], bool] = lambda did: False
    about: str = ""
    lag: Callable[[Keeping], int] | None = None

    @property
    def leased(self) -> str:
        """The name that its lease has."""
        return f"{self.name} {self.about}" if self.about else self.name
