"""A store of vectors elsewhere, which may be away: then nobody waits for it more than once in a while."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from agent_memory.core.write.debts import shown
from agent_memory.models.errors import InvalidInput, PartMissing
from agent_memory.models.record import Scope
from agent_memory.ports.vectors import Match, VectorStore

ANSWER_SECONDS = 2.0  # for an answer that the mirror can give as well
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0  # seconds in which it is not asked again: twice as many after each failure
T = TypeVar("T")


class Reach:
    """The `VectorStore` that `open` gives, opened when it is first needed. Whatever it raises, unless it refuses what
    it was given (`InvalidInput`), is `PartMissing`; so is every call in the pause after it, which asks nobody.

    Only a query is given up after a while: a change that went on unwatched could arrive after a later one."""

    def __init__(self, open: Callable[[], tuple[VectorStore, object]]) -> None:
        self._open = open
        self._opening = threading.Lock()
        self._opened: tuple[VectorStore, object] | None = None
        self._pause, self._until, self._why = 0.0, 0.0, ""

    @property
    def trouble(self) -> str | None:
        """Why it is not asked right now; None: it is."""
        return self._why if time.monotonic() < self._until else None

    def retry(self) -> None:
        """Ask it the next time, pause or not."""
        self._until = 0.0

    def upsert(self, namespace: str, id: str, vector: Sequence[float], metadata: Mapping[str, Any]) -> None:
        self._ask(lambda: self._store().upsert(namespace, id, vector, metadata))

    def query(
        self, namespace: str, vector: Sequence[float], k: int = 10, where: Mapping[str, Any] | None = None
    ) -> list[Match]:
        return self._ask(lambda: within(ANSWER_SECONDS, lambda: self._store().query(namespace, vector, k, where)))

    def delete(self, namespace: str, ids: Sequence[str]) -> int:
        return self._ask(lambda: self._store().delete(namespace, ids))

    def forget(self, scope: Scope, ids: Sequence[str]) -> None:
        self._ask(lambda: self._store().forget(scope, ids))

    def forget_tenant(self, tenant: str) -> None:
        self._ask(lambda: self._store().forget_tenant(tenant))

    def close(self) -> None:
        self._hook("close")

    def before_fork(self) -> None:
        self._hook("before_fork")

    def after_fork(self, child: bool) -> None:
        if child:
            self._opening = threading.Lock()
        self._hook("after_fork", child)

    def _hook(self, name: str, *arguments: object) -> None:
        """A plug-in need not be closed, nor care for forks."""
        if self._opened is not None:
            getattr(self._opened[1], name, lambda *_: None)(*arguments)

    def _store(self) -> VectorStore:
        with self._opening:
            if self._opened is None:
                self._opened = self._open()
            return self._opened[0]

    def _ask(self, call: Callable[[], T]) -> T:
        if (why := self.trouble) is not None:
            raise PartMissing(why)
        try:
            answer = call()
        except InvalidInput:
            self._pause = 0.0
            raise
        except Exception as error:  # whatever a plug-in raises
            self._pause = min(LONGEST_PAUSE, 2 * self._pause or FIRST_PAUSE)
            self._until = time.monotonic() + self._pause
            self._why = shown(error)
            raise PartMissing(self._why) from error
        self._pause = 0.0
        return answer


def within(seconds: float, work: Callable[[], T]) -> T:
    """What it gives; `TimeoutError` when that takes longer. Nobody waits for it then, not even at the end of the
    process."""
    given: Future[T] = Future()

    def run() -> None:
        try:
            given.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it is raised where somebody waits for it
            given.set_exception(error)

    context = contextvars.copy_context()
    threading.Thread(target=lambda: context.run(run), name="agent-memory-vectors", daemon=True).start()
    try:
        return given.result(seconds)
    except TimeoutError:
        if given.done():  # it is its own
            raise
        raise TimeoutError(f"no answer within {seconds:g} seconds") from None
