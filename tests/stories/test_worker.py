"""A program runs the jobs of its store by itself, and other packages add jobs. C11, P20."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from agent_memory import AgentMemory, ConsolidationWorker
from agent_memory.models.errors import InvalidInput
from patience import PATIENCE, until

pytestmark = pytest.mark.local
CLI = [sys.executable, "-m", "agent_memory.interfaces.cli"]


def pending(memory: AgentMemory) -> int:
    left: int = memory.upkeep.stats()["pending_vectors"]
    return left


@pytest.mark.requirement("C11")
def test_a_program_runs_the_jobs_beside_what_it_does() -> None:
    told: list[str] = []
    with AgentMemory("ada") as memory:
        memory.records.add_many([{"text": f"note {number}"} for number in range(3)])
        assert pending(memory) == 3
        with ConsolidationWorker(observe=lambda job, run: told.append(job)):
            until(lambda: pending(memory) == 0)
            until(lambda: "catch_up" in told)
        memory.records.add_many([{"text": "one more"}])
        assert pending(memory) == 1 and "agent-memory-jobs" not in {one.name for one in threading.enumerate()}


@pytest.mark.requirement("C11")
def test_once_and_by_name() -> None:
    with AgentMemory("ada") as memory:
        memory.records.add_many([{"text": "a note"}])
        worker = ConsolidationWorker(jobs=["catch_up"])
        try:
            assert worker.once() == {"catch_up": {"vectors": 1, "pending_vectors": 0}}
        finally:
            worker.close()
    with pytest.raises(InvalidInput, match="there is none named 'sing'"):
        ConsolidationWorker(jobs=["sing"])
    with pytest.raises(InvalidInput, match="is a server"):
        ConsolidationWorker(store="http://127.0.0.1:1")


@pytest.mark.requirement("C11")
def test_run_ends_at_sigterm_or_when_it_is_stopped(tmp_path: Path) -> None:
    code = "from agent_memory import ConsolidationWorker as W\nprint('up', flush=True)\nW().run()\nprint('down')"
    with subprocess.Popen([sys.executable, "-c", f"import time\n{code}"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "up\n"
        database = Path(os.environ["AGENT_MEMORY_HOME"]) / "memory.db"
        until(lambda: database.exists() and jobs_ran())
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=PATIENCE)[0] == "down\n" and process.returncode == 0
    worker = ConsolidationWorker()
    thread = threading.Thread(target=worker.run)
    thread.start()
    worker.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def jobs_ran() -> bool:
    with AgentMemory("ada") as memory:
        return any(one.last_run is not None for one in memory.upkeep.jobs())


TOY = """
from agent_memory.core.upkeep.job import Job

def ring(keeping, turn):
    return {"bells": 3}

bells = Job("bells", 5.0, ring)
retention = Job("retention", 5.0, ring)
other = Job("something else", 5.0, ring)

def fail(keeping, turn):
    raise ValueError("the rope tore")

torn = Job("torn", 5.0, fail)
"""
ENTRIES = """[agent_memory.jobs]
bells = toy_bells:bells
torn = toy_bells:torn
gone = toy_bells:gone
retention = toy_bells:retention
named = toy_bells:other
"""


@pytest.fixture
def toy(tmp_path: Path) -> dict[str, str]:
    """A package as pip would have installed it."""
    site = tmp_path / "site"
    info = site / "toy_bells-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "toy_bells.py").write_text(TOY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-bells\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRIES)
    return {**os.environ, "PYTHONPATH": str(site)}


@pytest.mark.requirement("P20")
def test_a_job_from_another_package(toy: dict[str, str]) -> None:
    """One that breaks stops no other, and what cannot be used is named by the doctor, and left out."""
    AgentMemory("ada").close()
    ran = subprocess.run([*CLI, "worker", "--once", "--json"], env=toy, capture_output=True, text=True)
    told = {one["job"]: one for one in map(json.loads, ran.stdout.splitlines())}
    assert told["bells"]["did"] == {"bells": 3}
    assert told["torn"]["error"] == "ValueError" and "bells" not in told["retention"]["did"]
    assert not {"gone", "named", "something else"} & {*told}
    checked = subprocess.run([*CLI, "doctor", "--json"], env=toy, capture_output=True, text=True)
    said = [one for one in json.loads(checked.stdout)["checks"] if one["name"] == "plug-in"]
    states = {name: one["state"] for one in said for name in ENTRIES.split() if f"'{name}'" in one["detail"]}
    assert states["bells"] == states["torn"] == "ok"
    assert states["gone"] == states["retention"] == states["named"] == "warn"
