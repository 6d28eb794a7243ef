"""`agent-memory demo`: a story is stored, asked, partly forgotten and proved, in a store that is thrown away."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from agent_memory.interfaces.cli import whose
from agent_memory.interfaces.cli.session import Session

if TYPE_CHECKING:
    from datetime import datetime

    from agent_memory.interfaces.cli.demo.asking import Performance
    from agent_memory.interfaces.cli.demo.telling import Telling

USER = "mira"


@whose.anywhere
@click.command("demo", short_help="See it work: a story is stored, asked, partly forgotten and proved")
@click.option(
    "--keep", type=click.Path(path_type=Path), help="keep the store in this new file  [default: delete it at the end]"
)
@click.option("--json", "_json", is_flag=True, help="answer in JSON")
@click.pass_obj
def command(session: Session, keep: Path | None, _json: bool) -> None:
    """See it work: four weeks of an engineer and an agent are stored, asked, partly forgotten and proved.

    Runs offline, in a temporary store that is deleted at the end. Your own memories are not touched.
    """
    from datetime import UTC, datetime

    from agent_memory.interfaces.cli import output

    if keep is not None and keep.exists():
        raise click.BadParameter(f"{keep} exists already: name a new file", param_hint="--keep")
    present = datetime.now(UTC)
    with place(keep) as store:
        done = _performed(store, present, quiet=session.json or _json)
    if session.json or _json:
        output.write_json(done)
        return
    from agent_memory.interfaces.cli.demo.showing import Stage, next_steps, show

    stage = Stage(output.terminal(), present)
    show(done, stage)
    next_steps(stage, f"sqlite:///{keep}" if keep else None, USER)


@contextmanager
def place(keep: Path | None) -> Iterator[Path]:
    """The file that was named, or one that is gone afterwards."""
    if keep is not None:
        yield keep
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="agent-memory-demo-") as folder:
        yield Path(folder) / "demo.db"


@contextmanager
def story(store: Path, present: datetime | None = None) -> Iterator[Telling]:
    """The story, to be told to this store: with the local embedder, whatever is configured, so that nothing is sent."""
    from datetime import UTC, datetime

    from agent_memory.app import config, registry
    from agent_memory.app.memory import AgentMemory
    from agent_memory.interfaces.cli.demo.telling import StoryClock, Telling

    warnings.simplefilter("ignore", config.SettingsWarning)  # they change nothing here
    clock = StoryClock(present or datetime.now(UTC))
    embedder = registry.open_embedder(config.load(embedding_provider="local"))
    with AgentMemory(USER, store=f"sqlite:///{store}", embedder=embedder, clock=clock) as memory:
        yield Telling(memory, clock)


def _performed(store: Path, present: datetime, *, quiet: bool) -> Performance:
    from agent_memory.interfaces.cli.demo.asking import perform

    with story(store, present) as told:
        steps = perform(told, store)
        return _watched(steps) if not quiet else list(steps)[-1]


def _watched(steps: Iterator[Performance]) -> Performance:
    """A line that moves while the story is stored; nothing of it stays, and a pipe does not see it."""
    from agent_memory.interfaces.cli import output

    with output.terminal(stderr=True).status("storing four weeks of conversations …"):
        return list(steps)[-1]
