"""`agent-memory demo`, the first thing that people see."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.interfaces.cli.demo import showing
from agent_memory.interfaces.cli.demo.asking import SECRET
from agent_memory.interfaces.cli.demo.telling import StoryClock, lines
from patience import PATIENCE

OLD, NEW = "PostgreSQL 13.9 (staging-db-1)", "PostgreSQL 16.4 (staging-db-2)"


def values(out: str) -> dict[str, str]:
    """name -> value of the demo's two-column lines."""
    return {line[3:21].strip(): line[21:] for line in out.splitlines() if line.startswith("   ") and len(line) > 21}


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.requirement("P10", "P15")
def test_the_demo_shows_what_it_promises(process: Any, scratch: Path, home: Path) -> None:
    ran = process("demo")
    assert (ran.code, ran.err) == (0, "")
    shown = values(ran.out)
    assert shown["stored"] == "48 turns in 5 conversations"
    assert "readiness probe timed out" in ran.out
    assert "vectors 0." in ran.out
    assert shown["now"] == NEW
    assert shown["as of last week"].startswith(OLD)
    assert shown["known 5 days ago"].startswith(OLD)
    assert shown["true 5 days ago"].startswith(NEW)
    assert shown["preference"] == "git: rebase onto main, never merge  (once: merge main into it)"
    assert SECRET in shown["before"]
    assert shown["forget"].startswith("2 records")
    assert shown["after"] == "no hit holds it"
    assert shown["in the file"].endswith(" times before, 0 times after")
    assert not shown["in the file"].startswith("0 ")
    assert shown["verify"].startswith("ok: ")
    assert ran.out.count("agent-memory ") == 3
    assert len(ran.out.splitlines()) < 60
    told, _, _ = ran.out.partition("Try next")  # what follows holds the path of the program, however long it is
    assert max(map(len, told.splitlines())) <= 100
    assert list(scratch.iterdir()) == []
    assert not home.exists()


def test_the_demo_in_json(here: Any, scratch: Path) -> None:
    done = here("demo", "--json").json
    assert done["staging"]["now"].endswith(NEW)
    assert done["staging"]["as of last week"].endswith(OLD)
    assert done["forgetting"]["found_before"]
    assert (done["forgetting"]["found_after"], done["forgetting"]["bytes_after"]) == ([], 0)
    assert done["forgetting"]["bytes_before"] > 0
    assert done["verification"]["ok"]
    assert set(done["seconds"]) == {"store", "recall", "forget", "verify"}
    assert list(scratch.iterdir()) == []


def test_a_terminal_sees_it_in_colour_and_no_trace_of_the_wait(terminal: Any, scratch: Path) -> None:
    ran = terminal("demo")
    assert ran.code == 0
    assert "\x1b[32mPostgreSQL 16.4 (staging-db-2)" in ran.out
    assert "\x1b[32m" not in terminal("demo", NO_COLOR="1").out


def test_the_story_can_be_kept_and_asked(here: Any, tmp_path: Path) -> None:
    kept = tmp_path / "story.db"
    out = here("demo", "--keep", str(kept)).out
    assert f"--store sqlite:///{kept}" in out
    with AgentMemory("mira", store=f"sqlite:///{kept}") as memory:
        assert memory.recall("who moved staging?", k=3).hits
        assert memory.upkeep.verify().ok
        turns = memory.episodic.get_conversation("flaky-deploys")
        assert [turn.index for turn in turns] == list(range(len(turns)))
        newest = memory.records.find(limit=1)[0]
        assert 0 < (datetime.now(UTC) - newest.valid_from).days < 5
    assert kept.read_bytes().count(SECRET.encode()) == 0
    again = here("demo", "--keep", str(kept))
    assert (again.code, "exists already" in again.err) == (2, True)


def test_the_demo_needs_no_configured_embedder(here: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_EMBEDDING_PROVIDER", "openai")
    assert here("demo", "--json").json["verification"]["ok"]


def test_the_story_is_in_order_and_in_the_past() -> None:
    clock = StoryClock(datetime(2026, 3, 10, 0, 0, 1, tzinfo=UTC))
    moments = [clock.days_ago(line["day"], line["at"]) for line in lines()]
    assert moments == sorted(moments)
    assert moments[-1] < clock.present
    assert 40 <= sum("in" in line for line in lines()) <= 60


# -- what to try next


def advised(out: str) -> list[list[str]]:
    return [shlex.split(line, comments=True) for line in out.split("Try next")[1].splitlines() if line.strip()]


def program(folder: Path) -> Path:
    """The command, as an installation would put it into a folder."""
    folder.mkdir(parents=True)
    made = folder / "agent-memory"
    made.write_text(f"#!{sys.executable}\nimport sys\nfrom agent_memory.interfaces.cli import main\nsys.exit(main())\n")
    made.chmod(0o755)
    return made


def run(words: list[str], cwd: Path, **environment: str) -> str:
    return subprocess.run(
        words, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=True, timeout=PATIENCE
    ).stdout


def test_advice_can_be_typed_where_the_command_is_not_on_the_path(tmp_path: Path) -> None:
    program(tmp_path / ".venv" / "bin")
    out = run([".venv/bin/agent-memory", "demo", "--keep", "a story.db"], tmp_path, PATH=os.defpath)
    commands = advised(out)
    assert {words[0] for words in commands} == {".venv/bin/agent-memory"}
    assert "readiness probe" in run(commands[0], tmp_path, PATH=os.defpath)
    out = run(["../.venv/bin/agent-memory", "demo"], _folder(tmp_path / "x"), PATH=os.defpath)
    assert {words[0] for words in advised(out)} == {"../.venv/bin/agent-memory"}
    out = run(["./agent-memory", "demo"], tmp_path / ".venv" / "bin", PATH=os.defpath)
    assert {words[0] for words in advised(out)} == {"./agent-memory"}


def test_advice_is_short_where_the_command_is_on_the_path(tmp_path: Path) -> None:
    made = program(tmp_path / "bin")
    out = run([str(made), "demo"], tmp_path, PATH=f"{made.parent}{os.pathsep}{os.defpath}")
    assert {words[0] for words in advised(out)} == {"agent-memory"}


def test_advice_without_any_command_at_hand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "__main__.py")])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert showing.command_to_type() == "bin/python -m agent_memory.interfaces.cli"


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
