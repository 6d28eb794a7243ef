"""A bar for long work: on the standard error of a terminal, gone when the work is done. In a pipe, and with `--json`,
there is none, so that output stays what it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent_memory.interfaces.cli import output
from agent_memory.ports.progress import watched

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 0.5  # seconds; what is done sooner needs no bar


@contextmanager
def shown(*, in_json: bool) -> Iterator[None]:
    """Show how far the work inside is, where somebody sees it."""
    if in_json or not (sys.stdout.isatty() and sys.stderr.isatty()):
        yield
        return
    bar = _Bar()
    try:
        with watched(bar.told):
            yield
    finally:
        bar.end()


class _Bar:
    """Drawn as soon as the work has taken a while. What is told while another thing is under way is a part of that."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._drawn: Progress | None = None
        self._line: TaskID | None = None
        self._what, self._left = "", 0

    def told(self, what: str, done: int, total: int) -> None:
        if what != self._what and self._left:
            return
        new = what != self._what
        self._what, self._left = what, total - done
        if self._drawn is None:
            if not self._left or time.monotonic() - self._begun < PATIENCE:
                return
            self._drawn = _drawing()
            self._drawn.start()
        if new or self._line is None:
            self._line = self._drawn.add_task(what, total=total)
        self._drawn.update(self._line, completed=done, total=total)

    def end(self) -> None:
        if self._drawn is not None:
            self._drawn.stop()


def _drawing() -> Progress:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=output.terminal(stderr=True), transient=True)
