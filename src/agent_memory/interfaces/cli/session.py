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
    from agent_memory.models.record import Scope


@dataclass
class Session:
    """One run of the program. What is None comes from the settings."""

    user: str | None = None
    tenant: str | None = None
    conversation: str | None = None
    agent: str | None = None
    store: str | None = None
    because: str | None = None
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
    def memory(self, *, creates: bool = False, files: bool = False) -> Iterator[AgentMemory]:
        """The client of this run. Its working set is left as it is: the next command may want it. Its store is opened
        when something is asked of it, and only what `creates` makes a new one. What is about `files` works without
        one: where there is none, an empty one stands in that is gone with the process."""
        from agent_memory.app import registry
        from agent_memory.app.memory import AgentMemory
        from agent_memory.core.govern.reading import reason

        settings = self.settings()
        if files and not creates and not registry.is_there(registry.locate(settings.store_url)):
            settings = settings.model_copy(update={"store": "memory://"})
        memory = AgentMemory.unopened(
            settings,
            self._scope(settings),
            self.conversation,
            create=creates,
            door="cli",
            why=reason(self.because, "--because"),
        )
        try:
            yield memory
        finally:
            memory.close(clear=False)

    def _scope(self, settings: Settings) -> Scope:
        """Whoever writes `--user '*'` asks for what all users share."""
        from agent_memory.models.record import SHARED, Scope

        return Scope(tenant=settings.tenant, user=settings.user, agent=self.agent or SHARED)

    def service(self) -> tuple[Service, Caller]:
        """An open store for a door that stays, and whoever started it as its caller: no key is asked of somebody who
        can open the file."""
        from agent_memory.app.client import conversation
        from agent_memory.app.service import Caller, Service
        from agent_memory.core.govern.reading import reason

        settings = self.settings()
        caller = Caller(self._scope(settings), conversation(self.conversation), why=reason(self.because, "--because"))
        return Service(settings, own=True), caller
