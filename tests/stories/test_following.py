"""Where a workplace is configured, workers keep its user's records of its pages up to date."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.app.service import Service
from patience import PATIENCE

PAGE = "## Rules\n\n- **short** Write short sentences.\n- **kind** Be kind.\n"


@pytest.fixture
def project(repo: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A trusted repository with pages, as the workplace of whoever works here; the process runs elsewhere."""
    repo.commit("rules", procedural=PAGE)
    repo.trust()
    monkeypatch.setenv("AGENT_MEMORY_WORKPLACE", str(repo.root))
    monkeypatch.setenv("AGENT_MEMORY_USER", "ada")
    return repo


def remembered(project: Any, user: str = "ada") -> set[str]:
    with AgentMemory(user) as memory:
        found = memory.records.find("procedure", repository=str(project.root))
        return {record.payload["name"] for record in found}


def ran(*words: str) -> Any:
    command = [str(Path(sys.executable).with_name("agent-memory")), *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line]


def lag() -> int | None:
    with AgentMemory("ada") as memory:
        return next(job.lag for job in memory.upkeep.jobs() if job.name == "follow")


@pytest.mark.requirement("P3")
def test_a_worker_follows_the_pages_of_its_workplace(project: Any) -> None:
    with AgentMemory("ada") as memory:
        memory.records.add("one note")
    assert lag() == 2
    runs = ran("worker", "--once")
    assert {run["job"]: run["did"] for run in runs}["follow"] == {"written": 2, "archived": 0}
    assert remembered(project) == {"short", "kind"} and lag() == 0
    project.write(".memory/procedural.md", "## Rules\n\n- **short** Write very short sentences.\n")
    assert lag() == 2
    assert ran("worker", "--once", "--job", "follow")[0]["did"] == {"written": 1, "archived": 1}
    assert remembered(project) == {"short"} and lag() == 0
    assert remembered(project, "bob") == set(), "it is done for the worker's user"


def test_without_a_workplace_there_is_no_such_job(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_MEMORY_WORKPLACE")
    monkeypatch.chdir(project.root)
    with AgentMemory("ada") as memory:
        assert "follow" not in memory.upkeep.run_jobs()
        assert "follow" not in {job.name for job in memory.upkeep.jobs()}
    assert remembered(project) == set()


def test_pages_that_nobody_trusted_are_not_followed(project: Any) -> None:
    with AgentMemory("ada") as memory:
        memory.rules.untrust(str(project.root))
        assert memory.upkeep.run_jobs()["follow"] == {}
        assert lag() == 0
    assert remembered(project) == set()


def test_a_job_with_nothing_to_follow_writes_nothing(project: Any) -> None:
    with AgentMemory("ada") as memory:
        memory.upkeep.run_jobs()
        before = len(memory.records.journal(limit=1000))
        memory.upkeep.run_jobs()
        assert len(memory.records.journal(limit=1000)) == before > 0


def test_a_workplace_that_is_gone_stops_no_other_job(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_WORKPLACE", str(project.root / "gone"))
    with AgentMemory("ada") as memory:
        assert "scrub" in memory.upkeep.run_jobs()


def test_workers_of_two_users_do_not_take_each_others_turn(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    leases = set()
    for user in ("ada", "bob"):
        monkeypatch.setenv("AGENT_MEMORY_USER", user)
        service = Service()
        try:
            leases |= {job.leased for job in service.jobs if job.name == "follow"}
            service.worker().once()
        finally:
            service.close()
    assert len(leases) == 2
    assert remembered(project, "ada") == remembered(project, "bob") == {"short", "kind"}
