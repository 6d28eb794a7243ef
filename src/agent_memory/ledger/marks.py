"""Whether a journal is still the one that was read: after a fail-over or a restore its numbers go back, or are used
again for something else.

A process keeps the last line that it saw of each journal, with the value of the chain there. Whoever looks at the head
asks, in the same trip, for the value at that line. Where it differs, or the line is gone, a new era begins: whatever
was read before counts no more, and is read again. Without a difference every line up to the mark is the one that was
read, since each seals all before it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import count
from typing import NamedTuple

from agent_memory.models.errors import Changed
from agent_memory.ports import spans

MOST = 10_000  # journals that are remembered; one that is not begins a new era when it is looked at again
_log = spans.log(__name__)


class LastSeen(NamedTuple):
    """The last line that was seen, the value of the chain at it, and in which era; 0: it was never looked at. `least`
    is a line that this process wrote, or knows of: a copy of the store that lacks it is behind."""

    seq: int = 0
    chain: bytes = b""
    era: int = 0
    least: int = 0

    def stands(self, there: object) -> bool:
        """`there` is the value of the chain at its line now, where there is such a line."""
        return self.seq == 0 or there == self.chain


class Marks:
    """Of the journals of a store: by tenant, and None for the store's own. Eras are numbered as they begin, whosever
    they are, so that a later one is larger."""

    def __init__(self) -> None:
        self._held: OrderedDict[str | None, LastSeen] = OrderedDict()
        self._eras = count(1)
        self.renew()

    def renew(self) -> None:
        """Also in a child: another thread may have held it."""
        self._guard = threading.Lock()

    def held(self, whose: str | None) -> LastSeen:
        """To be asked for, before the look begins."""
        with self._guard:
            return self._held.get(whose, LastSeen())

    def seen(self, whose: str | None, held: LastSeen, there: object, seq: int, chain: bytes) -> int:
        """The era of a look that asked for `held`, and found the head at `seq`."""
        with self._guard:
            now = self._held.get(whose, LastSeen())
            if now.era > held.era:  # another look was first
                return now.era if held.era == 0 or not held.stands(there) else held.era
            if held.era and held.stands(there):
                if seq >= now.seq:
                    self._keep(whose, LastSeen(seq, chain, held.era, now.least))
                return held.era
            if held.era:
                _log.info("a journal is not the one that was read before, and is read anew")
            least = 0 if held.era else now.least  # nobody looked before: what was written meanwhile is of this era
            self._keep(whose, LastSeen(seq, chain, next(self._eras), least))
            return self._held[whose].era

    def at_least(self, whose: str | None, seq: int) -> None:
        """A line that this process wrote, or has to know of: who has less is not asked. It is not marked: whether it
        follows the mark, nobody looked."""
        with self._guard:
            now = self._held.get(whose, LastSeen())
            self._keep(whose, now._replace(least=max(seq, now.least)))

    def _keep(self, whose: str | None, held: LastSeen) -> None:
        self._held[whose] = held
        self._held.move_to_end(whose)
        if len(self._held) > MOST:
            self._held.popitem(last=False)


def same_era(asked: int | None, found: int) -> None:
    """What was found by numbers of one era is not to be read by them in another."""
    if asked is not None and asked != found:
        raise Changed("the store was set back while it was read", hint="ask again")
