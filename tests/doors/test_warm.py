"""A command of the tests (`tests/warm`) does what one does that was started afresh."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE, until
from warm import FRESH, PROGRAM

pytestmark = pytest.mark.usefixtures("warm")


def ran(program: Sequence[str], *words: str, **how: Any) -> tuple[int, bytes, bytes]:
    done = subprocess.run([*program, *words], capture_output=True, timeout=PATIENCE, **how)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", [["--version"], ["list"], ["show", "nothing"], ["nonsense"], ["add", "-"]])
def test_it_says_and_ends_the_same(words: list[str]) -> None:
    assert ran(PROGRAM, *words, input=b"\xff") == ran(FRESH, *words, input=b"\xff")


def test_it_has_the_folder_the_environment_and_the_input_of_who_asked(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    where = {"cwd": tmp_path / "there", "env": {**os.environ, "AGENT_MEMORY_STORE": "own.db"}, "umask": 0o077}
    assert ran(PROGRAM, "add", "-", "--id", "a", input=b"one", **where)[0] == 0
    assert (tmp_path / "there" / "own.db").stat().st_mode & 0o777 == 0o600
    assert ran(PROGRAM, "show", "a", **where) == ran(FRESH, "show", "a", **where)


def test_what_python_reads_at_its_start_counts() -> None:
    assert b"import time:" in ran(PROGRAM, "--version", env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"})[2]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it(number: signal.Signals) -> None:
    """While it reads a text that has no end."""

    def ended(program: Sequence[str]) -> int:
        taken, given = os.pipe()
        os.write(given, b"no end")
        with subprocess.Popen([*program, "add", "-"], stdin=taken) as child:
            until(lambda: not select.select([taken], [], [], 0)[0], "it never read")
            os.close(taken)
            child.send_signal(number)
        until(lambda: refused(given), "somebody still reads")
        os.close(given)
        return child.returncode

    assert ended(PROGRAM) == ended(FRESH) == -number


def refused(given: int) -> bool:
    try:
        os.write(given, b".")
    except BrokenPipeError:
        return True
    return False
