"""Operations for callers from outside: one open store, and a client for each call. Every network door is a loop over
the table that ends here, so what a caller may do is decided once."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from agent_memory.app import config, wiring
from agent_memory.app.client import conversation
from agent_memory.app.memory import AgentMemory
from agent_memory.app.operations import Operation, Permission
from agent_memory.models.errors import Denied
from agent_memory.models.record import SHARED, Scope
from agent_memory.ports.clock import Clock, SystemClock

EVERYTHING = frozenset(Permission)


@dataclass(frozen=True)
class Caller:
    """Who calls, for whom, and what is allowed. `key` names the API key, where there is one."""

    scope: Scope
    conversation_id: str | None = None
    permissions: frozenset[Permission] = EVERYTHING
    key: str | None = None


class Service:
    """Safe to use from several threads. Close it when the last call is answered."""

    def __init__(self, settings: config.Settings | None = None, clock: Clock | None = None) -> None:
        self.settings = settings or config.load()
        self.clock = clock or SystemClock()
        self.runtime = wiring.borrow(self.settings)

    def call(self, operation: Operation, caller: Caller, arguments: dict[str, Any]) -> Any:
        """Run one operation in the caller's name. Arguments are checked there, as every caller's are."""
        if operation.permission not in caller.permissions:
            raise Denied(
                f"{operation.name} needs the permission {operation.permission}",
                hint=f"this key has {', '.join(sorted(caller.permissions)) or 'none'}",
            )
        memory = self.memory(caller)
        try:
            return attrgetter(operation.name)(memory)(**arguments)
        finally:
            memory.close(clear=False)

    def memory(self, caller: Caller) -> AgentMemory:
        """A client in the caller's name; whoever asks closes it, without clearing its desk."""
        return AgentMemory.within(
            self.runtime, self.settings, caller.scope, self.clock, conversation(caller.conversation_id)
        )

    def anonymous(self, **said: str | None) -> Caller:
        """Somebody on this machine who shows no key: whoever they say they are, `default` if they say nothing."""
        scope = Scope(
            tenant=said.get("tenant") or self.settings.tenant,
            user=said.get("user") or self.settings.user,
            agent=said.get("agent") or SHARED,
        )
        return Caller(scope, said.get("conversation"))

    def close(self) -> None:
        wiring.release(self.runtime)
