"""A backup that is put back under a running process, by SQLite's own means: what the process holds counts no more."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory

COLD = """
import json, sys
from agent_memory import AgentMemory
store, *texts = sys.argv[1:]
with AgentMemory("ada", store=store) as memory:
    for text in texts:
        memory.records.add(text)
    found = memory.recall("which deploy failed on Tuesday?", k=20).hits
    print(json.dumps([[hit.record.id, hit.record.text, hit.score] for hit in found]))
"""


Answer = list[tuple[str, str, Any]]


def copied(source: Path, target: Path) -> None:
    """As `.backup` and `.restore` do."""
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


def cold(store: Path, *texts: str) -> Answer:
    """Written and answered by another process."""
    run = [sys.executable, "-c", COLD, str(store), *texts]
    return told(json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout))


def warm(memory: AgentMemory) -> Answer:
    found = memory.recall("which deploy failed on Tuesday?", k=20).hits
    return told([hit.record.id, hit.record.text, hit.score] for hit in found)


def told(hits: Iterable[Sequence[Any]]) -> Answer:
    """What is recent counts a little less with every moment that goes by between two questions."""
    return [(id, text, pytest.approx(score, abs=1e-3)) for id, text, score in hits]


@pytest.mark.parametrize("others", [0, 3, 4, 9])
def test_a_backup_that_is_put_back(tmp_path: Path, others: int) -> None:
    """The journal ends earlier, with the same number, or later than the one that was read."""
    store, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with AgentMemory("ada", store=str(store)) as memory:
        for number in range(3):
            memory.records.add(f"Deploy {number} went well on Tuesday.")
        copied(store, backup)
        for number in range(4):
            memory.records.add(f"Deploy {number} failed on Tuesday, since the disk was full.")
        assert warm(memory)
        copied(backup, store)
        texts = [f"Deploy {number} failed on Tuesday, and nobody knows why." for number in range(others)]
        assert cold(store, *texts) == warm(memory)
        memory.records.add("Deploy 8 failed on Tuesday, too.")
        assert cold(store) == warm(memory)
        assert memory.upkeep.verify().ok


def test_numbers_of_users_that_come_again(tmp_path: Path) -> None:
    """Bob came after the backup, and again after another: what a process knew of the numbers opens no wall."""
    store, backup = tmp_path / "memory.db", tmp_path / "backup.db"
    with AgentMemory("ada", store=str(store)) as ada, AgentMemory("bob", store=str(store)) as bob:
        ada.records.add("Ada was here first.")
        copied(store, backup)
        bob.records.add("Bob likes tea.")
        assert bob.records.find()
        copied(backup, store)
        other = "from agent_memory import AgentMemory; import sys\n"
        other += "with AgentMemory('eve', store=sys.argv[1]) as eve: eve.records.add('The secret of Eve.')"
        subprocess.run([sys.executable, "-c", other, str(store)], check=True)
        assert bob.records.find() == []
        assert bob.recall("what is the secret?").hits == []
        bob.records.add("Bob likes coffee.")
        with AgentMemory("eve", store=str(store)) as eve:
            assert [one.text for one in eve.records.find()] == ["The secret of Eve."]
        assert ada.upkeep.verify().ok
