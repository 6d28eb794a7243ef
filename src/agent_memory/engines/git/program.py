"""The git program, called so that a repository cannot make it run anything: no hooks, no monitor, no filters, no
diffs, no transport, no pager, no prompt, and a bounded time. Its arguments are words of ours, full object ids and
literal paths; whatever a caller said goes to its standard input."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TypeAlias

from agent_memory.engines.git.layout import shown

SECONDS = 10.0
CHUNK = 1 << 16
KEPT = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")  # the user's own, safe.directory among it
CONFIG = {"core.fsmonitor": "false", "core.hooksPath": os.devnull, "log.showSignature": "false"}
OWNER = re.compile(r"dubious ownership|unsafe repository|safe\.directory")


Process: TypeAlias = "subprocess.Popen[bytes]"


class Trouble(Exception):
    """Git could not answer, and why, for people."""


class Git:
    """`environment` is the user's; what steers git is taken out of it. It may take so many `seconds` to answer."""

    def __init__(self, environment: Mapping[str, str], seconds: float = SECONDS) -> None:
        self._environment = environment
        self._seconds = seconds

    @contextmanager
    def running(self, folder: str, words: Sequence[str], patience: int = 1) -> Iterator[Process]:
        """A process at the root of a repository, which is gone when this ends. `Silent` inside becomes `Trouble`.
        `patience`: how many times as long as usual it may take."""
        seconds = patience * self._seconds
        environment = safe(self._environment)
        program = shutil.which("git", path=environment.get("PATH"))
        if program is None:
            raise Trouble("git is not installed")
        with tempfile.TemporaryFile() as said:
            try:
                process = subprocess.Popen(  # noqa: S603 - words of ours, and no shell
                    [program, *words],
                    cwd=folder,
                    env={**environment, "GIT_CEILING_DIRECTORIES": os.path.dirname(folder)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=said,
                    start_new_session=True,  # no terminal to ask at, and what it starts ends with it
                )
            except OSError as error:
                raise Trouble(f"git cannot be run: {error.strerror}") from None
            late = threading.Event()
            alarm = threading.Timer(seconds, _end, (process, late))
            alarm.daemon = True
            alarm.start()
            try:
                yield process
            except Silent:
                process.wait()
                if late.is_set():
                    raise Trouble(f"git took longer than {seconds:.0f} s") from None
                raise Trouble(_told(said, folder)) from None
            finally:
                alarm.cancel()
                _close(process)


class Silent(Exception):
    """The process ended before it said what was asked."""


def lines(git: Git, folder: str, words: Sequence[str], end: bytes, patience: int = 1) -> Iterator[bytes]:
    """What a command says, line by line, as soon as it says it; `Trouble` when it fails."""
    with git.running(folder, words, patience) as process:
        assert process.stdout is not None
        rest = b""
        while chunk := os.read(process.stdout.fileno(), CHUNK):
            *whole, rest = (rest + chunk).split(end)
            yield from whole
        if process.wait() != 0:
            raise Silent


def safe(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment that git gets."""
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_") or name in KEPT}
    settings = {
        name: value
        for number, (key, said) in enumerate(CONFIG.items())
        for name, value in ((f"GIT_CONFIG_KEY_{number}", key), (f"GIT_CONFIG_VALUE_{number}", said))
    }
    return {
        **kept,
        **settings,
        "GIT_CONFIG_COUNT": str(len(CONFIG)),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",  # older ones have no such switch, but may not fetch over anything either
        "GIT_NO_REPLACE_OBJECTS": "1",  # a commit is what its id says
        "GIT_LITERAL_PATHSPECS": "1",
        "LC_ALL": "C",
    }


def _end(process: Process, late: threading.Event) -> None:
    late.set()
    _kill(process)


def _kill(process: Process) -> None:
    if process.returncode is None:  # nobody waited for it yet, so its number is its own
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _close(process: Process) -> None:
    _kill(process)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # what was still to be said to it
    process.wait()


def _told(said: IO[bytes], folder: str) -> str:
    """What git complained of, in one line."""
    said.seek(0)
    text = said.read(4096).decode("utf-8", "replace")
    if OWNER.search(text):
        return (
            "git refuses this repository, since it belongs to somebody else: if you trust it, "
            f"git config --global --add safe.directory {shown(folder)}"
        )
    line = next((one for one in text.splitlines() if one.strip()), "it said nothing")
    return f"git failed: {line.removeprefix('fatal: ').strip()}"
