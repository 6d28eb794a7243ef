"""What the options before a command say: whose memory, where, and how to answer."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_memory.app.config import Settings
    from agent_memory.app.memory import AgentMemory
    from agent_memory.app.service import Caller, Service


@dataclass
class Session:
    """One run of the program. What is None comes from the settings."""

    user: str | None = None
    tenant: str | None = None
    conversation: str | None = None
    agent: str | None = None
    store: str | None = None
    json: bool = False
    debug: bool = False

    def settings(self) -> Settings:
        """What counts; what does not is said here, on the standard error, and not by Python's warnings again. JSON has
        no place for it: `doctor --json` has it all."""
        from agent_memory.app import config
        from agent_memory.interfaces.cli import output

        found = config.heard(user=self.user, store=self.store, tenant=self.tenant)
        warnings.simplefilter("ignore", config.SettingsWarning)
        for notice in [] if self.json else config.told(found.notices):
            output.write_error("warning:", notice.message, "yellow")
            output.write_error("hint:", notice.fix, "yellow")
        return config.settled(found)

    @contextmanager
    def memory(self, *, late: bool = False) -> Iterator[AgentMemory]:
        """The client of this run. Its working set is left as it is: the next command may want it. `late`: its store is
        opened when something is asked of it, and what is about files needs none."""
        from agent_memory.app.memory import AgentMemory
        from agent_memory.models.record import SHARED, Scope

        settings = self.settings()
        user = settings.user
        if late:
            scope = Scope(tenant=settings.tenant, user=user, agent=self.agent or SHARED)
            memory = AgentMemory.unopened(settings, scope, self.conversation)
        else:
            memory = self._opened(user)
        try:
            yield memory
        finally:
            memory.close(clear=False)

    def _opened(self, user: str) -> AgentMemory:
        from agent_memory.app.memory import AgentMemory
        from agent_memory.models.record import SHARED

        return AgentMemory(
            user,
            self.conversation,
            store=self.store,
            tenant=self.tenant,
            agent=self.agent or SHARED,
            shared=user == SHARED,  # whoever writes --user '*' asks for it
        )

    def service(self) -> tuple[Service, Caller]:
        """An open store for a door that stays, and whoever started it as its caller: no key is asked of somebody who
        can open the file."""
        from agent_memory.app.client import conversation
        from agent_memory.app.service import Caller, Service
        from agent_memory.models.record import SHARED, Scope

        settings = self.settings()
        scope = Scope(tenant=settings.tenant, user=settings.user, agent=self.agent or SHARED)
        caller = Caller(scope, conversation(self.conversation))
        return Service(settings, own=True), caller
