"""A package reads the file of another program: what it gives is taken in as lines are. P20."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_memory import AgentMemory

pytestmark = [pytest.mark.requirement("P20"), pytest.mark.local]
CLI = [sys.executable, "-m", "agent_memory.interfaces.cli", "--user", "ada"]
Ran = subprocess.CompletedProcess[str]
WRONG = "def raises(file):\n    yield {'text': 'one'}\n    raise ValueError('page 7 is torn')\nnothing = 7\n"
ENTRIES = "[agent_memory.importers]\nraises = torn:raises\ngone = torn:gone\nnothing = torn:nothing\n"


@pytest.fixture
def ran(home: Path, tmp_path: Path) -> Callable[..., Ran]:
    """A command, where the toy package and one with importers that fail are installed."""
    site = tmp_path / "site"
    (site / "torn-1.0.dist-info").mkdir(parents=True)
    (site / "torn.py").write_text(WRONG)
    (site / "torn-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torn\nVersion: 1.0\n")
    (site / "torn-1.0.dist-info" / "entry_points.txt").write_text(ENTRIES)
    path = os.pathsep.join([str(site), str(Path(__file__).parents[1] / "plugins")])

    def run(*words: str) -> Ran:
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run([*CLI, *words], env=environment, capture_output=True, text=True)

    return run


@pytest.fixture
def diary(tmp_path: Path) -> str:
    file = tmp_path / "diary.txt"
    file.write_text("2026-03-02 a heron\n2026-03-04 two ducks\n")
    return str(file)


def test_what_a_package_reads_is_taken_in_with_its_moment_and_once(ran: Callable[..., Ran], diary: str) -> None:
    assert ran("import", diary, "--importer", "sightings").stdout == "read 2 lines: 2 created, 0 updated, 0 unchanged\n"
    assert "2 unchanged" in ran("import", diary, "--importer", "sightings").stdout
    with AgentMemory("ada") as memory:
        found = {one.id: (one.text, one.valid_from.date().isoformat()) for one in memory.records.find()}
    assert found == {
        "seen-2026-03-02": ("saw a heron", "2026-03-02"),
        "seen-2026-03-04": ("saw two ducks", "2026-03-04"),
    }


def test_one_that_fails_is_named_and_takes_nothing_with_it(ran: Callable[..., Ran], diary: str) -> None:
    unknown = ran("import", diary, "--importer", "nobody")
    assert unknown.returncode == 2 and "there is none named 'nobody'" in unknown.stderr
    assert "installed: gone, nothing, raises, sightings" in unknown.stderr
    torn = ran("import", diary, "--importer", "raises")
    assert torn.returncode == 2 and "'raises' in agent_memory.importers of torn" in torn.stderr
    assert "ValueError: page 7 is torn" in torn.stderr and "Traceback" not in torn.stderr
    checks = json.loads(ran("doctor", "--json").stdout)["checks"]
    states = {one["detail"].split("'")[1]: one["state"] for one in checks if "agent_memory.importers" in one["detail"]}
    assert states == {"gone": "warn", "nothing": "warn", "raises": "ok", "sightings": "ok"}
