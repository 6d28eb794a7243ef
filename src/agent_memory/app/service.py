"""Operations for callers from outside: one open store, and a client for each call. Every network door is a loop over
the table that ends here, so what a caller may do is decided once."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from agent_memory.app import config, wiring
from agent_memory.app.board import Board
from agent_memory.app.caller import Caller as Caller
from agent_memory.app.client import conversation, within
from agent_memory.app.jobs import jobs
from agent_memory.app.news import JournalNews
from agent_memory.app.operations import TABLE, Operation, Permission
from agent_memory.app.workplace import Workplace
from agent_memory.core.govern.access import Meter, check_good, known
from agent_memory.core.govern.reading import reason
from agent_memory.core.upkeep.job import Job
from agent_memory.core.upkeep.runner import Observe as ObserveJob
from agent_memory.core.upkeep.runner import Runner
from agent_memory.models.errors import AgentMemoryError, Denied, TooMany, Unauthenticated, WriteRefused
from agent_memory.models.moment import to_micros
from agent_memory.models.record import SHARED, Scope
from agent_memory.ports import spans
from agent_memory.ports.abandon import Abandoned
from agent_memory.ports.access import KeyRow, Refusal
from agent_memory.ports.clock import Clock

FOREVER = 2**62  # a moment after all others
ABANDONED = "abandoned"
RENEW_SECONDS = 10.0  # how long a stream goes on with a key before it is looked at again
LONGEST_WORD = 200  # of what a stranger says, in the list of refusals
_log = spans.log(__name__)
Observe = Callable[[Operation, str, float], None]
"""Is told of every call: the operation, `ok`, `abandoned` or the code of its error, and how many seconds it took."""


class CallerClaim(NamedTuple):
    """Who somebody says they are, and the API key that they show; `peer` is the address they call from."""

    token: str | None = None
    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    conversation: str | None = None
    local: bool = True
    peer: str = ""
    door: str = "python"
    why: str | None = None


class Service:
    """Safe to use from several threads. Close it when the last call is answered."""

    def __init__(
        self,
        settings: config.Settings | None = None,
        clock: Clock | None = None,
        own: bool = False,
        board: Board | None = None,
    ) -> None:
        """`own`: the only caller is whoever runs this process. `board`: what it shares with the others, where it is one
        of several processes of a server."""
        self.settings = settings or config.load()
        self.runtime = wiring.borrow(self.settings)
        self.clock = clock or self.runtime.clock
        self.workplace = Workplace.bound(self.settings.workplace, own)
        self.news = JournalNews(lambda tenant: self.runtime.store.records.seq_at(tenant, FOREVER))
        self.board = board
        self._meter = Meter(self.settings.rate_limit, board.keys if board else None)
        self._strangers = Meter(self.settings.rate_limit, board.strangers if board else None)
        self._guarded = False
        self._closed = threading.Lock()  # taken once, and never let go
        self.observe: Observe = lambda operation, outcome, seconds: None
        self.note: spans.Note | None = None  # is told how long each part of a call took
        self.observe_job: ObserveJob = lambda name, run: None

    def has_keys(self) -> bool:
        """Whether calls need an API key: from the first one on that was ever made, also if it has ended or went
        with its tenant."""
        if not self._guarded:
            self._guarded = self.runtime.store.access.guarded()
        return self._guarded

    def identify(self, claim: CallerClaim, operation: str = "") -> Caller:
        """Who this really is. `Unauthenticated` or `Denied` leaves a line in the list of refusals, unless somebody
        without a key makes very many: then it is `TooMany`, and a good key from the same address still opens."""
        key: KeyRow | None = None
        try:
            if claim.token is None and not self.has_keys():
                return self._anonymous(claim)
            key = known(self.runtime.store.access, claim.token)
            self._meter.take(key.id, time.monotonic())
            check_good(key, to_micros(self.clock.now()))
            return _bound(key, claim, self.settings)._replace(door=claim.door, why=claim.why)
        except Denied as error:
            if key is None:
                self._strangers.take(claim.peer, time.monotonic())
            tenant = key.tenant if key else claim.tenant or self.settings.tenant
            self._refuse(tenant, claim.user or "", operation, error, key.id if key else None)
            raise
        except AgentMemoryError as error:
            self._hush(error)
            raise

    def admit(self, claim: CallerClaim, name: str, permission: Permission | None = None) -> None:
        """Let somebody see what is no operation: with any key, or only with one that has a permission; operators see
        all of it."""
        caller = self.identify(claim, name)
        try:
            if permission is not None and not caller.operates:
                caller.admit(name, permission)
        except Denied as error:
            self._refuse(caller.scope.tenant, caller.scope.user, name, error, caller.key)
            raise

    def operates(self, claim: CallerClaim) -> bool:
        """Whether somebody may be told of the store as a whole. Whoever shows no key is not refused anything here."""
        try:
            return (claim.token is not None or not self.has_keys()) and self.identify(claim).operates
        except AgentMemoryError:
            return False

    def call(self, operation: Operation, caller: Caller, arguments: dict[str, Any]) -> Any:
        """Run one operation in the caller's name. `InvalidInput` names an argument that is wrong, or missing."""
        begun = time.perf_counter()
        outcome = "unexpected"
        try:
            with spans.noted(self.note), spans.span(operation.name):
                answer = self._call(operation, caller, arguments)
            outcome = "ok"
            return answer
        except AgentMemoryError as error:
            outcome = error.code
            if not caller.operates:
                self._hush(error)
            raise
        except Abandoned:
            outcome = ABANDONED
            raise
        finally:
            self.observe(operation, outcome, time.perf_counter() - begun)

    def named(self, caller: Caller) -> Callable[[str, dict[str, Any]], Any]:
        """Operations by name in a caller's name: what is made of several of them is written once, for every door."""
        return lambda name, arguments: self.call(TABLE[name], caller, arguments)

    def lasting(self, caller: Caller, again: Callable[[], Caller]) -> Callable[[str, dict[str, Any]], Any]:
        """The same for a stream, which may last for days: who calls is asked `again` now and then, so that a key that
        ends also ends its streams."""
        known = time.monotonic()

        def call(name: str, arguments: dict[str, Any]) -> Any:
            nonlocal caller, known
            if time.monotonic() - known > RENEW_SECONDS:
                with contextlib.suppress(TooMany):  # its key is good, and busy elsewhere
                    caller = again()
                known = time.monotonic()
            return self.call(TABLE[name], caller, arguments)

        return call

    def _call(self, operation: Operation, caller: Caller, arguments: dict[str, Any]) -> Any:
        try:
            caller.admit(operation.name, operation.permission)  # before anything is said about the arguments
            checked = operation.bind((), arguments)
            named = caller._replace(conversation_id=conversation(caller.conversation_id), why=reason(caller.why))
            place = caller.workplace or self.workplace
            with within(self.runtime, self.settings, named, self.clock, place) as client:
                return client.dispatch(operation, checked)
        except WriteRefused:  # the gate has noted it
            raise
        except Denied as error:
            self._refuse(caller.scope.tenant, caller.scope.user, operation.name, error, caller.key)
            raise

    @property
    def jobs(self) -> Sequence[Job]:
        """Those of the store, and of the folder that this works in."""
        return jobs(self.runtime, self.settings, self.workplace.own)

    def worker(self, jobs: Sequence[Job] | None = None) -> Runner:
        """Runs the jobs of this store, once it is started; whoever asks stops it before this is closed."""
        chosen = self.jobs if jobs is None else jobs
        return Runner(self.runtime.keeping(self.clock), chosen, observe=lambda *told: self.observe_job(*told))

    def close(self) -> None:
        """Let go of the store; a second time there is nothing to let go of."""
        if not self._closed.acquire(blocking=False):
            return
        wiring.release(self.runtime)

    def _anonymous(self, claim: CallerClaim) -> Caller:
        """Somebody on this machine who shows no key: whoever they say they are, `default` if they say nothing."""
        if not claim.local:
            raise Unauthenticated("only this machine may call without an API key", hint="`agent-memory keys create`")
        scope = Scope(
            tenant=claim.tenant or self.settings.tenant,
            user=claim.user or self.settings.user,
            agent=claim.agent or SHARED,
        )
        return Caller(scope, claim.conversation, stranger=True, door=claim.door, why=claim.why)

    def _hush(self, error: AgentMemoryError) -> None:
        """Where the store is, is for its operators: others are told what is wrong, and the log tells the rest."""
        store = self.runtime.store
        for url in (store.url, *(place.partition(" ")[2] for place in store.outside)):
            where = url.partition(":///")[2] or url
            if where in error.message:
                _log.warning("%s", error.message)
                error.message = error.message.replace(f": {where}", "").replace(where, "the store")

    def _refuse(self, tenant: str, user: str, operation: str, error: Denied, key: str | None) -> None:
        tenant, user, operation, reason = (word[:LONGEST_WORD] for word in (tenant, user, operation, error.message))
        self.runtime.refusals.add(Refusal(to_micros(self.clock.now()), tenant, user, operation, reason, key))


def _bound(key: KeyRow, claim: CallerClaim, settings: config.Settings) -> Caller:
    """A key speaks for its tenant alone, and for its user alone where it has one."""
    if claim.tenant not in (None, key.tenant):
        raise Denied(f"this key does not belong to the tenant {claim.tenant!r}", hint=f"it is of {key.tenant!r}")
    if key.user is not None and claim.user not in (None, key.user):
        raise Denied(f"this key does not speak for {claim.user!r}", hint=f"it speaks for {key.user!r}")
    scope = Scope(tenant=key.tenant, user=key.user or claim.user or settings.user, agent=claim.agent or SHARED)
    permissions = frozenset(Permission(one) for one in key.permissions)
    return Caller(scope, claim.conversation, permissions, key.id, key.user)
