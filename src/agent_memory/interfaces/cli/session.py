"""What the options before a command say: whose memory, where, and how to answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_memory.app.memory import AgentMemory


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

    @contextmanager
    def memory(self) -> Iterator[AgentMemory]:
        """The client of this run. Its working set is left as it is: the next command may want it."""
        from agent_memory.app import config
        from agent_memory.app.memory import AgentMemory
        from agent_memory.models.record import SHARED

        user = config.load(user=self.user).user
        memory = AgentMemory(
            user,
            self.conversation,
            store=self.store,
            tenant=self.tenant,
            agent=self.agent or SHARED,
            shared=user == SHARED,  # whoever writes --user '*' asks for it
        )
        try:
            yield memory
        finally:
            memory.close(clear=False)
