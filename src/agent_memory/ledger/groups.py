"""Requests that wait for each other are written together: one transaction, one sync of the disk, for all of them.

There is no thread for it, and nobody waits for company. Who finds nobody writing for its tenant writes at once, alone.
Who comes meanwhile waits, and the first of those then writes for all who wait by then. Each gets its own answer or its
own error, after the commit.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from copy import copy

from agent_memory.ledger.request import Request
from agent_memory.models.errors import AgentMemoryError, StoreError
from agent_memory.ports.changes import Applied

MOST_REQUESTS = 64
MOST_CHANGES = 1000  # of a group: when one of its requests fails, the others may have to be planned again

Answer = Applied | AgentMemoryError
Write = Callable[[Sequence[Request]], Sequence[Answer]]
"""What an engine does: requests of one tenant, in this order, in one transaction; their answers, when it is durable.

`StoreError`: the store cannot be written, or nobody knows whether it was; that is so for all of them. Whatever else it
raises, it raises before the commit: one of them may be the cause, so that each is then tried alone."""


class Groups:
    """The requests that wait in this process. An engine has one, gives it to every `apply`, and calls `renew` in a
    child that was forked."""

    def __init__(self, together: Write) -> None:
        self.together = together
        self.renew()

    def renew(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[str, deque[_Place]] = {}  # by tenant, where somebody writes: that one is the first

    def apply(self, request: Request) -> Applied:
        place = _Place(request)
        try:
            if turn := self._wait_for(place):
                turn.wait()
            if place.answer is None:
                try:
                    self._lead(place)
                finally:
                    self._leave(place)
        except BaseException:
            self._leave(place)  # also where an interrupt cut the other one short
            raise
        if isinstance(place.answer, Applied):
            return place.answer
        raise place.answer or _in_doubt()

    def _wait_for(self, place: _Place) -> threading.Event | None:
        """In line; None: it is the first, and writes at once."""
        with self._lock:
            queue = self._queues.setdefault(place.tenant, deque())
            if queue:
                place.turn = threading.Event()
            queue.append(place)
            return place.turn

    def _lead(self, place: _Place) -> None:
        """Write for oneself, and for those who wait."""
        while place.answer is None:
            group = [place]
            answers: Sequence[Answer] | None = None
            try:
                self._join(group)
                answers = self.together([one.request for one in group])
            except StoreError as error:
                answers = [error, *(_again(error) for _ in group[1:])]
            except Exception:
                if len(group) == 1:
                    raise
                self._put_back(group)
                group = []
            finally:
                for number, one in enumerate(group):
                    one.answer = answers[number] if answers else _in_doubt()
                    if one.turn:
                        one.turn.set()

    def _join(self, group: list[_Place]) -> None:
        """Out of the line, those that are written for together with its first.

        The main thread writes for nobody else: an interrupt, which always comes there, leaves nobody in doubt."""
        first, changes = group[0], len(group[0].request.changes)
        if first.alone or threading.current_thread() is threading.main_thread():
            return
        with self._lock:
            queue = self._queues[first.tenant]
            while len(queue) > 1 and len(group) < MOST_REQUESTS and not queue[1].alone:
                changes += len(queue[1].request.changes)
                if changes > MOST_CHANGES:
                    break
                group.append(queue[1])
                del queue[1]

    def _put_back(self, group: Sequence[_Place]) -> None:
        """All of them, in their order, to be written alone."""
        with self._lock:
            queue = self._queues[group[0].tenant]
            for number, one in enumerate(group):
                one.alone = True
                if number:
                    queue.insert(number, one)

    def _leave(self, place: _Place) -> None:
        """Whoever is the first now writes. Done twice, it does no harm."""
        with self._lock:
            queue = self._queues.get(place.tenant)
            if queue is None:
                return
            if place in queue:
                queue.remove(place)
            if not queue:
                del self._queues[place.tenant]
            elif queue[0].turn:
                queue[0].turn.set()


class _Place:
    """One request in line. Its `turn` comes when it is answered, or when it is the first; None: it was so at once."""

    __slots__ = ("alone", "answer", "request", "tenant", "turn")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.tenant = request.author.scope.tenant
        self.turn: threading.Event | None = None
        self.answer: Answer | None = None
        self.alone = False


def _again(error: AgentMemoryError) -> AgentMemoryError:
    """The same error for somebody else, whose thread adds to it."""
    other = copy(error)
    other.__cause__ = error.__cause__
    return other


def _in_doubt() -> StoreError:
    return StoreError(
        "the thread that wrote this together with its own was stopped: it may be stored, or not",
        hint="look for it before you write it again; with an idempotency key it is safe to repeat",
    )
