"""What a client is to its namespaces: a scope, a moment, and the way to where their operations run.

A program that imports `AgentMemory` imports this; what opens a store and works on it is loaded when one is opened.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol

from agent_memory.app.caller import Caller
from agent_memory.app.operations import TABLE, Namespace, Operation, Permission
from agent_memory.app.workplace import Workplace
from agent_memory.core.govern.reading import cost, named
from agent_memory.models.errors import BudgetExceeded, Conflict, InvalidInput, StoreError
from agent_memory.models.model import clean_name
from agent_memory.models.moment import to_micros
from agent_memory.ports.abandon import finishing
from agent_memory.ports.clock import Clock, StoreClock
from agent_memory.ports.forks import CALLS
from agent_memory.ports.lagging import reading_only
from agent_memory.ports.reading import MOST_IDS, ReadLine
from agent_memory.ports.spans import Side, span
from agent_memory.ports.spending import Spender, SpendingAs

if TYPE_CHECKING:
    from agent_memory.app.config import Settings
    from agent_memory.app.wiring import Runtime
    from agent_memory.core.govern.redact import KnownSecrets
    from agent_memory.core.work.ground import Ground
    from agent_memory.core.working.desk import WorkingSet
    from agent_memory.models.record import Record
    from agent_memory.ports.changes import Author
    from agent_memory.ports.records import View
    from agent_memory.ports.working import Desk

GLOBAL = "global"


class Transport(Protocol):
    """How a call gets to where it is answered: in this process (`Here`), or at a server (`remote.Away`)."""

    side: Side
    threads: int  # that work for coroutines

    def call(self, operation: Operation, namespace: Namespace, arguments: dict[str, Any]) -> Any: ...

    @property
    def runtime(self) -> Runtime:
        """What is open in this process; an error where the store is elsewhere."""

    def end(self, client: Client, *, clear: bool) -> None:
        """Let go of what is behind it; `clear` the desk of its client before."""


class Here:
    """In this process, on a store that the first thing that needs it opens."""

    side = Side.INSIDE
    threads = 4  # as many as can compute at once

    def __init__(self, opens: Callable[[], Runtime]) -> None:
        self._opens = opens
        self._opening = threading.Lock()
        self._opened: Runtime | None = None

    @property
    def runtime(self) -> Runtime:
        if self._opened is None:
            with self._opening:
                if self._opened is None:
                    self._opened = self._opens()
        return self._opened

    def call(self, operation: Operation, namespace: Namespace, arguments: dict[str, Any]) -> Any:
        begun = time.perf_counter()
        found = answer(operation, namespace, arguments)
        if operation.shows_memories and self._opened is not None and not operation.here:
            _note_read(namespace._client, self._opened, operation.name, found, time.perf_counter() - begun)
        return found

    def end(self, client: Client, *, clear: bool) -> None:
        if self._opened is None:
            return
        from agent_memory.app import wiring
        from agent_memory.core.working.desk import beside

        try:
            if clear and not self._opened.store.read_only:
                with beside():
                    client.working.clear()
        finally:
            wiring.release(self._opened)


def answer(operation: Operation, namespace: Namespace, arguments: dict[str, Any]) -> Any:
    """Run it in this process, on arguments without secrets: whatever it keeps, logs or sends on is made from those. A
    store is opened for that only where something looks like one, and may have been allowed."""
    from agent_memory.core.govern.redaction import redacted, redactor

    client = namespace._client
    cleans = client.settings.redact and not operation.here and not operation.verbatim
    if cleans and not redactor(client.settings.personal_data).is_clean(arguments):
        known = client.known(found=operation.permission is not Permission.READ)
        arguments = redacted(arguments, client.settings.personal_data, known, operation.names)
    account = SpendingAs(spender_of(client, operation.name, arguments.get("run_id")), partial(_check_run, client))
    try:
        with account, reading_only() if operation.permission is Permission.READ else finishing():
            return operation.function(namespace, **arguments)
    except BudgetExceeded as error:
        if error.run_id is not None and not client.runtime.store.read_only:
            from agent_memory.core.work import runs  # seldom needed

            runs.abort(client.ground(), error.run_id, error.message)
        raise


def _check_run(client: Client, id: str) -> None:
    """That a run may be charged: one of this caller's own, and under way."""
    run, _ = client.ground().own("run", id)
    if run.payload["status"] == "ended":
        raise Conflict(f"run_id: the run {id!r} has ended", hint="start another run", field="run_id")


def spender_of(client: Client, operation: str, run_id: str | None = None) -> Spender:
    """On whose account models are asked in an operation."""
    scope = client.scope
    return Spender(scope.tenant, scope.user, scope.agent, run_id or client.run_id or "", operation)


def _note_read(client: Client, runtime: Runtime, operation: str, found: Any, seconds: float) -> None:
    """A line in the access log; one that must be durable is so before the answer is given."""
    how, caller, why = client.settings.access_log, client.caller, client.caller.reason
    if how == "off" or runtime.store.reading is None or runtime.store.read_only:
        return
    if why is not None and client.settings.redact:
        from agent_memory.core.govern.redaction import redactor

        why = redactor(client.settings.personal_data).text(why, client.known(found=False))
    scope, shown = client.scope, named(found)
    whose = (client.now(), scope.tenant, scope.user, scope.agent, caller.key, caller.door, operation)
    line = ReadLine(*whose, shown[:MOST_IDS], len(shown), why, int(seconds * 1e6), *cost(found))
    if how == "durable":
        runtime.keep_reads([line], durable=True)
    else:
        runtime.reads.add(line)


class Client:
    """In whose name, and by which way. `settings` are those of this client; a runtime is shared."""

    run_id: str | None = None
    """The run that is under way: what it asks and does carries this id."""

    def __init__(
        self,
        caller: Caller,
        settings: Settings,
        transport: Transport,
        clock: Clock | None = None,
        workplace: Workplace | None = None,
    ) -> None:
        self.caller = caller
        self.settings = settings
        self.transport = transport
        self.scope = caller.scope
        self.clock = clock or StoreClock(lambda now: transport.runtime.store.bounded(now))
        self.conversation_id = caller.conversation_id
        self.workplace = workplace or Workplace()
        self._open = [True]  # emptied once: `pop` is atomic, and asking costs next to nothing

    @property
    def runtime(self) -> Runtime:
        return self.transport.runtime

    def dispatch(self, operation: Operation, arguments: dict[str, Any], namespace: Namespace | None = None) -> Any:
        """Run it with arguments that were checked, if this caller may. Nowhere else is that asked: no operation calls
        another."""
        self.check_open()
        self.caller.admit(operation.name, operation.permission)
        return self.transport.call(operation, namespace or operation.owner(self), arguments)

    def ask(self, name: str, said: Mapping[str, Any] = {}, /, **arguments: Any) -> Any:
        """An operation by its name, wherever the store is. Nobody is asked for a permission here: whoever runs in this
        process may, or was admitted to what asks; a server asks for that of each."""
        self.check_open()
        operation = TABLE[name]
        with CALLS, span(name, self.transport.side):
            return self.transport.call(operation, operation.owner(self), operation.bind((), {**said, **arguments}))

    def check_open(self) -> None:
        if not self._open:
            raise StoreError("this AgentMemory is closed", hint="make a new one")

    def end(self, *, clear: bool) -> None:
        """Closed from now on; what is behind this client is let go of, once."""
        try:
            self._open.pop()
        except IndexError:
            return
        self.transport.end(self, clear=clear)

    def now(self) -> int:
        clock = self.clock
        return clock.micros() if isinstance(clock, StoreClock) else to_micros(clock.now())

    def view(self, as_of: datetime | None = None, valid_at: datetime | None = None) -> View:
        from agent_memory.ports.records import View

        seq = None if as_of is None else self.runtime.store.records.seq_at(self.scope.tenant, to_micros(as_of))
        return View(self.scope, self.now(), seq, None if valid_at is None else to_micros(valid_at))

    def author(self, reason: str | None = None) -> Author:
        from agent_memory.ports.changes import Author

        return Author(self.scope, actor=self.scope.user, reason=reason, door=self.caller.door)

    def own(self, kind: str, *, key: str | None = None, id: str | None = None) -> Record | None:
        """The record of exactly this scope that says the same thing: what an agent of its own tells for itself never
        becomes a version of what its user shares with all of them."""
        return self.runtime.store.records.head(self.scope, kind, key=key, id=id)

    def head(self, kind: str, id: str) -> tuple[Record | None, Author]:
        """The record of this user's own that is to be changed, and in whose name to write the next version of it."""
        from agent_memory.core.write.commit import heads

        return heads(self.runtime.store.records, self.author(), kind, id)

    def ground(self) -> Ground:
        """For what changes by reading first."""
        from agent_memory.core.work.ground import Ground

        runtime = self.runtime
        return Ground(runtime.writing, runtime.store.feed, self.author(), self.now, runtime.idle)

    def known(self, *, found: bool = True) -> KnownSecrets:
        """What is known of secrets here; nothing is opened before one was found."""
        from agent_memory.core.govern.redact import KnownSecrets

        made = cache(lambda: self.runtime.redaction.known(self.scope.tenant, found=found))
        return KnownSecrets(lambda secret: made().allowed(secret), lambda secret: made().signed(secret))

    @property
    def conversation(self) -> str | None:
        """What its conversation is called where something is kept: like any name, without secrets."""
        said = self.conversation_id
        if said is None or not self.settings.redact:
            return said
        from agent_memory.core.govern.redaction import redactor

        return redactor(self.settings.personal_data).text(said, self.known(), identifying=True)

    def _desk(self) -> Desk:
        from agent_memory.ports.working import Desk

        return Desk(self.scope, self.conversation or GLOBAL)

    @cached_property
    def working(self) -> WorkingSet:
        """What is on the desk; it follows the conversation."""
        from agent_memory.core.working.desk import WorkingSet

        return WorkingSet(self.runtime.store.working, self.clock, self._desk, self.settings.max_working_memory_items)


@contextmanager
def within(
    runtime: Runtime, settings: Settings, caller: Caller, clock: Clock, workplace: Workplace
) -> Iterator[Client]:
    """A client of a store that is open already, in a caller's name: for one call. Its desk is left as it is."""
    from agent_memory.app import wiring

    client = Client(caller, settings, Here(partial(wiring.share, runtime)), clock, workplace)
    try:
        yield client
    finally:
        client.end(clear=False)


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
