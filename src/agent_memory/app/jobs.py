"""The jobs that a process runs: those of every store and, where it was given a workplace, following the pages there and
syncing the files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agent_memory.app import following, plugins, userfiles
from agent_memory.app.caller import Caller
from agent_memory.app.client import Client, within
from agent_memory.app.trust import TrustTarget
from agent_memory.app.workplace import Workplace
from agent_memory.core.upkeep.compress import JOB as COMPRESS
from agent_memory.core.upkeep.compress import compressing
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
    every: tuple[Job, ...] = (*JOBS, *others())
    if settings.compress != "off":
        every = (*every, compressing(settings.compress, settings.compress_days))
    if settings.adapters:
        every = (*every, _learning(runtime))
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


def others() -> list[Job]:
    """Those of other packages. One that cannot be used is left out, and `doctor` names it."""
    return [job for _, job, wrong in registered() if job is not None and not wrong]


def registered() -> Iterator[tuple[plugins.Plugin, Job | None, str]]:
    """Each entry point with its job, and what is wrong with it."""
    taken = {job.name for job in JOBS} | {COMPRESS, FOLLOW, LEARN, SYNC}
    for one in plugins.installed(plugins.JOBS):
        try:
            job = one.load()
        except Exception as error:  # noqa: BLE001 - a package that breaks takes no other job with it
            yield one, None, f"{type(error).__name__}: {error}"
            continue
        if not isinstance(job, Job) or job.name != one.entry.name:
            yield one, None, f"it does not give a Job with the name {one.entry.name!r}"
        elif job.name in taken:
            yield one, job, "that name is taken"
        else:
            taken.add(job.name)
            yield one, job, ""


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
