"""`agent-memory worker`: the background jobs of a store, in a process of their own."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.jobs import did
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from agent_memory.core.upkeep.runner import Observe
    from agent_memory.ports.feed import JobOutcome


@whose.anywhere
@click.command("worker", short_help="Run the background jobs of the store until Ctrl-C")
@click.option("--once", is_flag=True, help="run each job once, and stop")
@click.option("--job", "jobs", multiple=True, metavar="NAME", help="run only this job (repeatable)")
@click.option("--json", "_json", is_flag=True, help="print a JSON object for each run, even at a terminal")
@click.pass_obj
def command(session: Session, once: bool, jobs: tuple[str, ...], _json: bool) -> int:
    """Run the background jobs of the store until Ctrl-C (or SIGTERM).

    A server does the same beside its answers; any number of workers and servers share the jobs of a store. A line
    tells which jobs it runs, and one of every run: in JSON, unless it is a terminal. `agent-memory jobs` shows how they
    stand.
    """
    from agent_memory.app.registry import check_there, locate
    from agent_memory.app.worker import check_own, check_writable, chosen
    from agent_memory.interfaces.cli import exits, progress
    from agent_memory.ports.abandon import Abandoned

    in_json = session.json or _json or not sys.stdout.isatty()
    url = session.settings().store_url
    check_own(url)
    check_there(locate(url))
    service, _ = session.service()
    try:
        wanted = chosen(service.jobs, jobs)
        runner = service.worker(wanted)
        check_writable(service)
        with _until_told(runner.stop) as told:
            tell = _told_in_json if in_json else _told
            gone = threading.Event()
            service.observe_job = tell if once else _until_gone(tell, gone, told)
            if once:
                with progress.shown(in_json=in_json):
                    runner.once()
                return exits.OK
            _begun([job.name for job in wanted], service.runtime.store.url, in_json=in_json)
            runner.start()
            told.wait()
            if gone.is_set():
                raise BrokenPipeError
    except Abandoned:
        return exits.STOPPED
    finally:
        service.close()
    return exits.OK


@contextmanager
def _until_told(stop: Callable[[], Any]) -> Iterator[threading.Event]:
    """What is given is set, and `stop` called, when a signal asks this process to end; a second one ends it at once."""
    told = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        for one, handler in before.items():
            signal.signal(one, handler)
        told.set()
        threading.Thread(target=stop).start()  # it takes locks that whatever was interrupted here may hold

    before = {one: signal.signal(one, ask) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield told
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
        stop()


def _until_gone(tell: Observe, gone: threading.Event, told: threading.Event) -> Observe:
    """When nobody reads what it tells any more, the worker ends, and no job has failed."""

    def observe(job: str, run: JobOutcome) -> None:
        try:
            tell(job, run)
        except BrokenPipeError:
            gone.set()
            told.set()

    return observe


def _begun(jobs: list[str], store: str, *, in_json: bool) -> None:
    """Whoever looks on sees that it runs, also where there is nothing to do for hours."""
    if in_json:
        click.echo(json.dumps({"at": _now(), "runs": jobs, "store": store}))
    else:
        click.echo(f"runs {', '.join(jobs)} when they are due, until Ctrl-C: {store}")
    sys.stdout.flush()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _told_in_json(job: str, run: JobOutcome) -> None:
    from agent_memory.ports.spans import trace_id

    line = {
        "at": _now(),
        "job": job,
        "seconds": round(run.seconds, 3),
        "did": dict(run.did),
        "error": run.error,
        "trace_id": trace_id(),
    }
    click.echo(json.dumps({name: value for name, value in line.items() if value is not None}))


def _told(job: str, run: JobOutcome) -> None:
    came = did(run.did) if run.error is None else f"failed: {run.error}"
    click.echo(f"{datetime.now().astimezone():%H:%M:%S}  {job}: {came} ({run.seconds:.1f} s)")
