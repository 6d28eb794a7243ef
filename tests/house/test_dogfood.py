"""We keep this repository's memory with the product itself. P18."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.models.record import Status

ROOT = Path(__file__).parents[2]
PARTS = ("docs/decisions", "benchmarks/README.md", ".memory/procedural.md", ".memory/notes/failures.md")


def git(folder: Path, *words: str) -> None:
    named = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", *named, "-C", folder, *words], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The pages of this repository, in one with a history of its own."""
    folder = tmp_path / "clone"
    for part in PARTS:
        there = folder / part
        there.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, there)
    git(folder.parent, "init", "--quiet", str(folder))
    git(folder, "add", "--all")
    failed = (
        "Mend it\n\nFailed: The lock was left\nBecause: nobody let go of it\nRule: **let-go** (advise) Let go of locks."
    )
    git(folder, "commit", "--quiet", "--no-verify", "-m", failed)
    return folder


def kept(folder: Path) -> tuple[str, int]:
    """The page that was written, and the last line of the journal."""
    subprocess.run([sys.executable, ROOT / "scripts/dogfood.py", folder], check=True, capture_output=True)
    with AgentMemory("agent-memory", store=folder / ".memory/store.db") as memory:
        return (folder / ".memory/notes/history.md").read_text("utf-8"), memory.upkeep.verify().seq


@pytest.mark.requirement("P18")
def test_twice_gives_the_same(repository: Path) -> None:
    assert kept(repository) == kept(repository)


@pytest.mark.requirement("P18")
def test_decisions_failures_and_refusals_can_be_recalled(repository: Path) -> None:
    page, _ = kept(repository)
    for line in page.splitlines():
        missed = line.partition(": missed by ")[2].split(", ")
        assert len(missed) == len({*missed}), "a measure with an aim in two tables is named once"
    assert "The lock was left, because nobody let go of it\n  - rule `let-go`: waits for approval" in page
    with AgentMemory("agent-memory", store=repository / ".memory/store.db") as memory:
        [similar] = memory.state.find_similar_decisions("how do we keep secrets out of the store?", limit=1)
        assert "Secrets" in similar.decision
        assert [one.rule.split("**")[1] for one in memory.rules.proposals()] == ["let-go"]
        refused = memory.records.find("procedure", status=Status.REJECTED)
        reasons = [line.reason for one in refused for line in memory.records.journal(id=one.id)]
    assert len(refused) == page.count(": refused: ") >= 2
    assert all(
        any(reason in line for reason in reasons if reason) for line in page.splitlines() if ": refused: " in line
    )
