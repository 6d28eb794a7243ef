"""`agent-memory guard`: a command that a rule denies does not run; one that may, runs as if nobody had asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from patience import FOREVER, PATIENCE

PROGRAM = [sys.executable, "-P", "-m", "agent_memory.interfaces.cli"]
pytestmark = pytest.mark.requirement("P4")


def test_a_merge_does_not_run(repository: Any) -> None:
    before = repository.good("rev-parse", "HEAD")
    ran = repository.ours("guard", "--", "git", "merge", "feature")
    assert ran.code == 126
    assert ran.out == ""
    assert "denied: Always rebase, never merge." in ran.err
    assert "because: a linear history can be bisected" in ran.err
    assert "fix: git rebase main" in ran.err
    assert repository.good("rev-parse", "HEAD") == before


def test_what_may_run_runs_with_its_own_input_output_and_status(repository: Any) -> None:
    ran = repository.ours("guard", "--", "sh", "-c", "cat; echo err >&2; exit 7", input="told\n")
    assert (ran.code, ran.out, ran.err) == (7, "told\n", "err\n")
    assert repository.ours("guard", "git", "log", "--oneline", "-1").out.endswith("feat: begin\n")
    words = ["a b", "$HOME", "*", "--json", "--", "-x"]
    ran = repository.ours("guard", "--", sys.executable, "-c", "import sys; print(sys.argv[1:])", *words)
    assert ran.out == f"{words}\n"


def test_words_are_no_line_for_a_shell(repository: Any) -> None:
    assert repository.ours("guard", "--", "echo", "; git merge feature").out == "; git merge feature\n"
    assert repository.ours("guard", "--", "sh", "-c", "git merge feature").code == 126


def test_a_line_for_a_shell(repository: Any) -> None:
    assert repository.ours("guard", "--shell", "echo a | tr a b && exit 3").out == "b\n"
    assert repository.ours("guard", "--shell", "true && git merge feature").code == 126
    assert repository.ours("guard", "--shell", "git $(echo merge) feature").code == 126


def test_a_signal_reaches_the_command(repository: Any) -> None:
    child = subprocess.Popen(
        [*PROGRAM, "guard", "--", sys.executable, "-c", f"print('up', flush=True); import time; time.sleep({FOREVER})"],
        cwd=repository.root,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"up\n"
    child.send_signal(signal.SIGTERM)
    assert child.wait(PATIENCE) == -signal.SIGTERM
    child.stdout.close()


def test_what_there_is_not_and_what_cannot_be_told(repository: Any, tmp_path: Path) -> None:
    assert repository.ours("guard", "--", "no-such-command").code == 127
    assert repository.ours("guard").code == 2
    assert repository.ours("guard", "--shell", "ls", "--", "ls").code == 2
    gone = tmp_path / "gone"
    gone.mkdir()
    shell = f'cd {gone} && rmdir {gone} && exec "$@"'
    ran = subprocess.run(
        ["sh", "-c", shell, "sh", *PROGRAM, "guard", "--", "echo", "ran"], capture_output=True, env={**os.environ}
    )
    assert ran.returncode == 125
    assert ran.stdout == b""


def test_a_warning_is_said_and_it_runs(repository: Any) -> None:
    page = "# Procedures\n\n## Rules\n\n- **x** (warn) Rather not.\n  - command: `echo`\n"
    repository.write(".memory/procedural.md", page)
    ran = repository.ours("guard", "--", "echo", "ran")
    assert (ran.code, ran.out) == (0, "ran\n")
    assert "warning: Rather not." in ran.err
