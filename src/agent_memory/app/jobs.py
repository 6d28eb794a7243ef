"""The jobs that a process runs: those of every store and, where it was given a workplace, following the pages there and
syncing the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_memory.app import following, userfiles
from agent_memory.app.caller import Caller
from agent_memory.app.client import Client, within
from agent_memory.app.trust import TrustTarget
from agent_memory.app.workplace import Workplace
from agent_memory.core.upkeep.job import Did, Job, JobTurn, Keeping
from agent_memory.core.upkeep.jobs import JOBS
from agent_memory.models.errors import InvalidInput
from agent_memory.models.record import Scope

if TYPE_CHECKING:
    from agent_memory.app.config import Settings
    from agent_memory.app.wiring import Runtime

FOLLOW, SYNC, FOLLOW_SECONDS = "follow", "sync", 60.0
LEARN, DAY = "learn", 86_400.0


def jobs(runtime: Runtime, settings: Settings, own: bool) -> tuple[Job, ...]:
    """In the order in which they are run and shown. `own` is that of `Workplace`."""
    every = (*JOBS, _learning(runtime)) if runtime.settings.adapters else JOBS
    if settings.workplace is None or not settings.procedures:
        return every
    workplace = Workplace.bound(settings.workplace, own)
    try:
        here = TrustTarget(workplace.folder())
    except InvalidInput:  # it is gone: then there is nothing to follow
        return every
    scope = Scope(tenant=settings.tenant, user=settings.user)

    def inside(keeping: Keeping, ask: Callable[[Client, Path], Did]) -> Did:
        """Nothing, while the folder is gone."""
        with within(runtime, settings, Caller(scope, door="job"), keeping.clock, workplace) as asking:
            try:
                place = workplace.folder()
            except InvalidInput:
                return {}
            return ask(asking, place)

    def job(name: str, run: Callable[[Client, Path], Did], left: Callable[[Client, Path], int]) -> Job:
        return Job(
            name,
            FOLLOW_SECONDS,
            lambda keeping, turn: inside(keeping, run),
            left=lambda keeping: inside(keeping, lambda *here: {"left": left(*here)}).get("left", 0),
            about=f"{here.name} for {scope.tenant}/{scope.user}",
        )

    return (*every, job(FOLLOW, _follow, _to_follow), job(SYNC, _sync, userfiles.left))


def _learning(runtime: Runtime) -> Job:
    def run(keeping: Keeping, turn: JobTurn) -> Did:
        from agent_memory.core.upkeep.learn import learn  # it brings what recalls need

        return learn(keeping, turn, runtime.recalling)

    return Job(
        LEARN, DAY, run, left=lambda keeping: keeping.store.feed.behind(LEARN), more=lambda did: did["behind"] > 0
    )


def _to_follow(client: Client, place: Path) -> int:
    return 0 if following.untrusted(client, place) else following.left(client, place)


def _follow(client: Client, place: Path) -> Did:
    """Whoever does it, the same records come of it: it is not fenced."""
    if following.untrusted(client, place):
        return {}
    done = following.follow(client, place)
    return {"written": done.written, "archived": done.archived}


def _sync(client: Client, place: Path) -> Did:
    """Conflicts wait for somebody who decides. It is not fenced either."""
    found = userfiles.sync(client, place).files
    counted = ("remembered", "ended", "written", "removed", "conflicts")
    return {name: sum(len(getattr(one, name)) for one in found) for name in counted}
