"""The jobs that a process runs: those of every store and, where it was given a workplace, following the pages there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_memory.app import following
from agent_memory.app.caller import Caller
from agent_memory.app.trust import Repository
from agent_memory.app.workplace import Workplace
from agent_memory.core.upkeep.job import Did, Job, Keeping, Turn
from agent_memory.core.upkeep.jobs import JOBS
from agent_memory.models.errors import InvalidInput
from agent_memory.models.record import Scope

if TYPE_CHECKING:
    from agent_memory.app.client import Client
    from agent_memory.app.config import Settings
    from agent_memory.app.wiring import Runtime

FOLLOW, FOLLOW_SECONDS = "follow", 60.0


def jobs(runtime: Runtime, settings: Settings, own: bool) -> tuple[Job, ...]:
    """In the order in which they are run and shown. `own` is that of `Workplace`."""
    if settings.workplace is None or not settings.procedures:
        return JOBS
    workplace = Workplace.bound(settings.workplace, own)
    try:
        here = Repository(workplace.folder())
    except InvalidInput:  # it is gone: then there is nothing to follow
        return JOBS
    scope = Scope(tenant=settings.tenant, user=settings.user)

    @contextmanager
    def client(keeping: Keeping) -> Iterator[Client]:
        from agent_memory.app.memory import AgentMemory

        memory = AgentMemory.within(runtime, settings, Caller(scope), keeping.clock, workplace)
        try:
            yield memory._client
        finally:
            memory.close(clear=False)

    def trusted(keeping: Keeping, ask: Callable[[Client], Did]) -> Did:
        """Nothing, while the repository is not trusted, or gone."""
        with client(keeping) as asking:
            try:
                place = workplace.folder()
            except InvalidInput:
                return {}
            return {} if following.untrusted(asking, place) else ask(asking)

    def left(keeping: Keeping) -> int:
        return trusted(keeping, lambda asking: {"left": following.left(asking, workplace.folder())}).get("left", 0)

    def run(keeping: Keeping, turn: Turn) -> Did:
        """Whoever does it, the same records come of it: it is not fenced."""

        def follow(asking: Client) -> Did:
            done = following.follow(asking, workplace.folder())
            return {"written": done.written, "archived": done.archived}

        return trusted(keeping, follow)

    about = f"{here.name} for {scope.tenant}/{scope.user}"
    return (*JOBS, Job(FOLLOW, FOLLOW_SECONDS, run, left=left, about=about))
