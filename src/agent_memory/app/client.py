"""What a client is to its namespaces: a scope, a moment, and the runtime behind them."""

from __future__ import annotations

import functools
import threading
from datetime import datetime
from typing import Any

from agent_memory.app import telemetry, wiring
from agent_memory.app.caller import Caller
from agent_memory.app.config import Settings
from agent_memory.app.operations import TABLE, Namespace, Operation, Permission
from agent_memory.app.wiring import Runtime
from agent_memory.app.workplace import Workplace
from agent_memory.core.working.desk import WorkingSet, beside
from agent_memory.core.write.commit import heads
from agent_memory.models.errors import InvalidInput, StoreError
from agent_memory.models.model import clean_name
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Record
from agent_memory.ports.abandon import finishing
from agent_memory.ports.changes import Author
from agent_memory.ports.clock import Clock, StoreClock
from agent_memory.ports.lagging import reading_only
from agent_memory.ports.records import View
from agent_memory.ports.spans import Side, span
from agent_memory.ports.working import Desk

GLOBAL = "global"


class Client:
    """Local: operations run in this process. `settings` are those of this client; a runtime is shared."""

    side = Side.INSIDE
    threads = 4  # that work for coroutines: as many as can compute at once

    def __init__(
        self,
        runtime: Runtime,
        caller: Caller,
        clock: Clock,
        settings: Settings | None = None,
        workplace: Workplace | None = None,
    ) -> None:
        self.runtime = runtime
        self.settings = settings or runtime.settings
        self.caller = caller
        self.scope = caller.scope
        self.clock = clock
        self.conversation_id = caller.conversation_id
        self.workplace = workplace or Workplace()
        self._left = threading.Lock()  # taken once, and never let go

    @property
    def open(self) -> bool:
        return not self._left.locked()

    def leave(self) -> bool:
        """Closed from now on. Of several threads that try, one is told that it was the one."""
        return self._left.acquire(blocking=False)

    def dispatch(self, operation: Operation, namespace: Namespace, arguments: dict[str, Any]) -> Any:
        """Run it, if this caller may. Nowhere else is that asked: no operation calls another."""
        self.check_open()
        self.caller.admit(operation.name, operation.permission)
        return self._run(operation, namespace, arguments)

    def ask(self, name: str, **arguments: Any) -> Any:
        """What an operation that runs `here` wants of the store, wherever that is. A server asks for the permission of
        each; in this process, whoever runs was admitted."""
        operation = TABLE[name]
        with span(name, self.side):
            return self._run(operation, operation.owner(self), operation.bind((), arguments))

    def _run(self, operation: Operation, namespace: Namespace, arguments: dict[str, Any]) -> Any:
        with reading_only() if operation.permission is Permission.READ else finishing():
            return operation.function(namespace, **arguments)

    def check_open(self) -> None:
        if not self.open:
            raise StoreError("this AgentMemory is closed", hint="make a new one")

    def end(self, *, clear: bool) -> None:
        """Let go of what is behind this client, once it has left; `clear` its desk before."""
        try:
            if clear and not self.runtime.store.read_only:
                with beside():
                    self.working.clear()
        finally:
            wiring.release(self.runtime)

    def now(self) -> int:
        return to_micros(self.clock.now())

    def view(self, as_of: datetime | None = None, valid_at: datetime | None = None) -> View:
        seq = None if as_of is None else self.runtime.store.records.seq_at(self.scope.tenant, to_micros(as_of))
        return View(self.scope, self.now(), seq, None if valid_at is None else to_micros(valid_at))

    def author(self, reason: str | None = None) -> Author:
        return Author(self.scope, actor=self.scope.user, reason=reason)

    def own(self, kind: str, *, key: str | None = None, id: str | None = None) -> Record | None:
        """The record of exactly this scope that says the same thing: what an agent of its own tells for itself never
        becomes a version of what its user shares with all of them."""
        return self.runtime.store.records.head(self.scope, kind, key=key, id=id)

    def head(self, kind: str, id: str) -> tuple[Record | None, Author]:
        """The record of this user's own that is to be changed, and in whose name to write the next version of it."""
        return heads(self.runtime.store.records, self.author(), kind, id)

    def desk(self) -> Desk:
        return Desk(self.scope, self.conversation_id or GLOBAL)

    @functools.cached_property
    def working(self) -> WorkingSet:
        """What is on the desk; it follows the conversation."""
        return WorkingSet(self.runtime.store.working, self.clock, self.desk, self.settings.max_working_memory_items)


class LateClient(Client):
    """Its store is opened by the first thing that is asked of it; without `create`, only if it is there."""

    def __init__(self, caller: Caller, settings: Settings, *, create: bool = True) -> None:
        self.settings = settings
        self.caller = caller
        self.scope = caller.scope
        self.clock = StoreClock(lambda now: self.runtime.store.bounded(now))
        self.conversation_id = caller.conversation_id
        self.workplace = Workplace()
        self._left = threading.Lock()
        self._opening = threading.Lock()
        self._opened: Runtime | None = None
        self._create = create
        telemetry.begin(settings)  # what is asked of it is told, also that there is no store

    @property
    def runtime(self) -> Runtime:  # type: ignore[override]
        with self._opening:
            if self._opened is None:
                self._opened = wiring.borrow(self.settings, create=self._create)
            return self._opened

    def end(self, *, clear: bool) -> None:
        if self._opened is not None:
            super().end(clear=clear)


def conversation(id: object) -> str | None:
    """The name of a conversation, checked; None is none."""
    if id is None:
        return None
    try:
        if isinstance(id, str):
            return clean_name(id)
    except ValueError as error:
        raise InvalidInput(f"conversation_id: {error}", field="conversation_id") from None
    raise InvalidInput(
        f"conversation_id: {type(id).__name__} is not text", hint="give it a name, or None", field="conversation_id"
    )
