"""A store to play with: `agent-memory try`, and what `make run` serves."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "agent_memory.interfaces.cli"]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_a_command_runs_in_a_store_of_its_own(process: Any, scratch: Path, home: Path) -> None:
    told = process("try", *PROGRAM, "recall", "why did the deploys time out?", "-k", "1")
    assert (told.code, "time" in told.out) == (0, True)
    empty = process("try", "--empty", *PROGRAM, "list")
    assert (empty.code, "no store" in empty.err) == (6, True), "its own status is the status"
    added = process("try", "--empty", "sh", "-c", f"{' '.join(PROGRAM)} add mine && {' '.join(PROGRAM)} show @last")
    assert "mine" in added.out
    assert not home.exists() and list(scratch.iterdir()) == []


def test_a_command_of_ours_needs_no_program_before_it(process: Any, scratch: Path, home: Path) -> None:
    told = process("try", "recall", "why did the deploys time out?", "-k", "1", "--json")
    assert len(told.json["hits"]) == 1
    assert process("try", "--empty", "list").code == 6
    wrong = process("try", "recal", "x")
    assert (wrong.code, "did you mean `agent-memory try recall`?" in wrong.err) == (2, True)
    assert "agent-memory try list" in process("try").err
    assert not home.exists() and list(scratch.iterdir()) == []


def test_a_shell_at_a_terminal_and_nobody_in_a_pipe(terminal: Any, process: Any, scratch: Path) -> None:
    shell = scratch.parent / "shell"
    shell.write_text(f"#!/bin/sh\n{' '.join(PROGRAM)} list --kind goal\necho as $AGENT_MEMORY_USER\n")
    shell.chmod(0o755)
    ran = terminal("try", SHELL=str(shell))
    assert ran.code == 0 and "as mira" in ran.out and "goal" in ran.out and "thrown away" not in ran.out
    assert "forget @last" in ran.out
    refused = process("try")
    assert (refused.code, "name a command" in refused.err) == (2, True)
    assert process("try", "no-such-program-here").code == 2
    assert list(scratch.iterdir()) == [], "nothing is left"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", "run", *words], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.parametrize("words", [["PORT=abc"], ["PORT=70000"], ["PORT="], ["PORT=8005", "GRPC_PORT=x"]])
def test_a_port_that_is_none_gets_a_sentence(words: list[str]) -> None:
    told = run(*words).stderr.splitlines()
    assert f"{words[-1]} is not a port: use a number from 1 to 6553" in told[0] and len(told) == 2


def test_a_port_that_is_taken_gets_a_sentence_before_the_story(scratch: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as closed:
        port, free = (one.getsockname()[1] for one in (taken, closed))
        closed.close()
        for ports in ([f"PORT={port}", f"GRPC_PORT={free}"], [f"PORT={free}", f"GRPC_PORT={port}"]):
            ran = run(*ports)
            assert f"port {port} cannot be used (address already in use): choose another" in ran.stderr.splitlines()[0]
            assert ran.stdout == ""
    assert list(scratch.iterdir()) == []


def test_make_run_serves_the_story_that_it_told(scratch: Path, home: Path) -> None:
    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        port, grpc = (free.getsockname()[1] for free in (one, other))
    program = Path(sys.executable).with_name("agent-memory")
    words = ["sh", "scripts/run.sh", str(program), str(port), str(grpc)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        said = []
        try:
            for line in child.stdout:
                said.append(line)
                if line.startswith("agent-memory serves"):
                    break
            curl = next(line for line in said if "curl" in line).partition("curl -s '")[2].rstrip("'\n")
            with urllib.request.urlopen(f"http://{curl}", timeout=PATIENCE) as answer:
                found = answer.read().decode()
        finally:
            child.send_signal(signal.SIGTERM)
            child.stdout.read()
    assert "staging" in found
    assert not home.exists() and list(scratch.iterdir()) == []
