"""What the tests of the command line share: running it here, as a process of its own, and at a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.engines.onnx.embedder import OnnxEmbedder
from agent_memory.interfaces.cli import main
from patience import PATIENCE
from warm import FRESH, PROGRAM

# Root may write everywhere. Without these two capabilities it is held to permissions like anybody else.
AS_ANYBODY = """
import ctypes, os, sys
if os.geteuid() == 0:
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0  # PR_CAPBSET_DROP
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Ran]


@pytest.fixture(scope="session", autouse=True)
def loaded() -> Iterator[OnnxEmbedder]:
    """Embedders of one process share the model for as long as one of them lives."""
    embedder = OnnxEmbedder()
    embedder.embed_many(["warm"])
    yield embedder


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process."""

    def run(*words: str) -> Ran:
        capsys.readouterr()
        code = main(list(words))
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return run


@pytest.fixture
def process(warm: None) -> Run:
    """Run a command as a process; `input` is piped in."""

    def run(*words: str, input: str | bytes = b"", anybody: bool = False, **environment: str) -> Ran:
        command = [sys.executable, "-c", AS_ANYBODY, *FRESH] if anybody else PROGRAM
        ran = subprocess.run(
            [*command, *words],
            input=input.encode() if isinstance(input, str) else input,
            capture_output=True,
            env={**os.environ, **environment},
            timeout=PATIENCE,
        )
        return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    return run


@pytest.fixture
def terminal(warm: None) -> Run:
    """Run a command at a terminal of 100 columns, where somebody types `typed`. `out` is all that the screen got."""

    def run(*words: str, typed: str = "", **environment: str) -> Ran:
        ours, theirs = pty.openpty()
        child = subprocess.Popen(
            [*PROGRAM, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", **environment},
            start_new_session=True,
        )
        os.close(theirs)
        if typed:
            os.write(ours, typed.encode())
        seen = b""
        try:
            while data := os.read(ours, 65536):
                seen += data
        except OSError:  # the other side is gone
            pass
        finally:
            os.close(ours)
        return Ran(child.wait(PATIENCE), seen.decode(), "")

    return run


@pytest.fixture
def store(home: Path) -> Path:
    """Where the store of a test is, once something is in it."""
    return home / "memory.db"


@pytest.fixture
def remembered(here: Run) -> str:
    """The id of a record that is there already."""
    assert here("add", "Staging listens on port 5433", "--id", "port").code == 0
    return "port"


@pytest.fixture
def pair(serving: Callable[..., AbstractContextManager[str]]) -> Iterator[tuple[AgentMemory, AgentMemory]]:
    """One store, reached both ways."""
    with serving() as url, AgentMemory("ada", "c1") as here, AgentMemory("ada", "c1", store=url) as there:
        yield here, there
