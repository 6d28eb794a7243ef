"""All jobs over many turns, killed at random, and once more: the same comes of it as without a kill.

As many turns as `AGENT_MEMORY_SOAK_TURNS` says: 600 by default, which takes some minutes. For 50,000:
`AGENT_MEMORY_SOAK_TURNS=50000 python -m pytest -m soak tests/stories/test_upkeep_soak.py --timeout=36000`.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory

pytestmark = [pytest.mark.soak, pytest.mark.local, pytest.mark.requirement("C11")]
TURNS = int(os.environ.get("AGENT_MEMORY_SOAK_TURNS", "600"))
KILLS = 12
WORKER = [sys.executable, "-m", "agent_memory.interfaces.cli", "--store"]
NEVER_THE_SAME = {"id", "version_id", "recorded_at", "recorded_until", "created_at", "updated_at", "accessed_at"}


def test_killed_at_random_comes_to_the_same(tmp_path: Path) -> None:
    first = tmp_path / "first.db"
    draw = random.Random(7)
    with AgentMemory("ada", store=first) as memory:
        for start in range(0, TURNS, 1000):
            said = [turn(number, draw) for number in range(start, min(start + 1000, TURNS))]
            memory.records.add_many(said)
    whole, torn = tmp_path / "whole.db", tmp_path / "torn.db"
    shutil.copy(first, whole)
    shutil.copy(first, torn)
    for _ in range(2):
        once(whole)
    for _ in range(KILLS):
        killed(torn, draw.uniform(0.3, 4.0))
    for _ in range(2):
        once(torn)
    assert state(torn) == state(whole)


def turn(number: int, draw: random.Random) -> dict[str, Any]:
    city, day = draw.choice(["Lima", "Oslo", "Pune", "Quito"]), draw.randint(1, 28)
    said = draw.choice([f"I moved to {city} on March {day}.", f"I like tea in {city}.", f"Is it cold in {city}?"])
    return {"text": f"{said} ({number})", "kind": "observation", "id": f"turn-{number}"}


def environment() -> dict[str, str]:
    return {**os.environ, "AGENT_MEMORY_COMPRESS": "zstd", "AGENT_MEMORY_COMPRESS_DAYS": "0"}


def once(store: Path) -> None:
    done = subprocess.run([*WORKER, str(store), "worker", "--once"], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def killed(store: Path, seconds: float) -> None:
    """As a power switch does it; the next worker waits for the lease that this one leaves."""
    process = subprocess.Popen(
        [*WORKER, str(store), "worker", "--once"],
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


def state(store: Path) -> dict[str, Any]:
    with AgentMemory("ada", store=store) as memory:
        proof = memory.upkeep.verify()
        assert proof.ok, proof.problems
        records = [one.model_dump(mode="json") for one in memory.records.versions(limit=1000)]
        stats = memory.upkeep.stats()
    with closing(sqlite3.connect(store)) as connection:
        texts = connection.execute("select content, codec, hex(cast(text as blob)) from contents order by 1").fetchall()
    told = [{name: value for name, value in one.items() if name not in NEVER_THE_SAME} for one in records]
    return {
        "records": sorted(json.dumps(one, sort_keys=True) for one in told),
        "texts": texts,
        "counts": [stats[name] for name in ("kinds", "records", "versions", "links", "vectors", "pending_vectors")],
    }
