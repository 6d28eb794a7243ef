"""The command line as a process that starts at once.

To start Python and import the program takes half a second of CPU, more than most tests of a command do besides. So one
interpreter for each worker of the tests has imported it, waits, and forks for every command: a process of its own, with
its own arguments, environment, folder, pipes or terminal, and exit status. Tests of the start itself use `FRESH`, and
so does whoever says something that an interpreter only reads when it starts (`PYTHONPATH`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
ADDRESS = f"{tempfile.gettempdir()}/agent-memory-warm-{os.getpid()}"

FRESH = [sys.executable, "-m", "agent_memory.interfaces.cli"]
# What stands before the words of a command.
PROGRAM = [sys.executable, "-I", "-S", str(HERE / "ask.py"), ADDRESS, "-m"]
SAFE = [sys.executable, "-I", "-S", str(HERE / "ask.py"), ADDRESS, "-P"]  # as `python -P -m`


@contextmanager
def waiting() -> Iterator[None]:
    """While it waits at `ADDRESS`. Where nobody waits, `PROGRAM` starts afresh."""
    keeper = subprocess.Popen(
        [sys.executable, str(HERE / "keep.py"), ADDRESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert keeper.stdin is not None and keeper.stdout is not None
    try:
        assert keeper.stdout.readline() == b"waiting\n"
        yield
    finally:
        keeper.stdin.close()
        keeper.wait()
        keeper.stdout.close()
        Path(ADDRESS).unlink(missing_ok=True)
