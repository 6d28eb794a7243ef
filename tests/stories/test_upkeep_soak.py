"""All jobs over many turns, killed at random, and once more: the same comes of it as without a kill.

As many turns as `AGENT_MEMORY_SOAK_TURNS` says: 600 by default, which takes some minutes. For 50,000:
`AGENT_MEMORY_SOAK_TURNS=50000 python -m pytest -m soak tests/stories/test_upkeep_soak.py --timeout=36000`.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.models.record import Linked, Status

pytestmark = [pytest.mark.soak, pytest.mark.local, pytest.mark.requirement("C11")]
TURNS = int(os.environ.get("AGENT_MEMORY_SOAK_TURNS", "600"))
KILLS = 12
TALK = 20  # turns of a conversation
WORKER = [sys.executable, "-m", "agent_memory.interfaces.cli", "--store"]
NEVER_THE_SAME = {"id", "version_id", "recorded_at", "recorded_until", "created_at", "updated_at", "accessed_at"}
SINCE_THEY_WERE_MADE = {"user", "strategy"}  # and not since what they were made from
MADE = {"fact", "entity", "reflection", "strategy", "conversation", "observation"}


class At:
    """A clock that is moved by hand."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment


def test_killed_at_random_comes_to_the_same(tmp_path: Path) -> None:
    first, draw = tmp_path / "first.db", random.Random(7)
    written(first, draw)
    whole, torn = tmp_path / "whole.db", tmp_path / "torn.db"
    shutil.copy(first, whole)
    shutil.copy(first, torn)
    started = time.monotonic()
    once(whole)
    seconds = time.monotonic() - started
    once(whole)
    for _ in range(KILLS):
        killed(torn, draw.uniform(0.2, 2.0) * seconds / KILLS)
    for _ in range(2):
        once(torn)
    expected = state(whole)
    made = [json.loads(one) for one in expected["records"]]
    assert {one["kind"] for one in made} >= MADE  # every job had something to do
    assert [one for one in made if one["status"] == "archived"]  # merged, or pruned
    assert [one for one in made if one["payload"].get("archived")]  # a conversation of long ago
    assert state(torn) == expected


def written(store: Path, draw: random.Random) -> None:
    """Conversations, notes of which some are told twice and some are worth little, and outcomes: of long ago."""
    clock = At(datetime.now(UTC) - timedelta(days=200))
    with AgentMemory("ada", "work", store=store, clock=clock) as memory:
        for start in range(0, TURNS, 1000):
            turns = [turn(number, draw, clock) for number in range(start, min(start + 1000, TURNS))]
            memory.records.add_many(turns)
            memory.records.add_many([note(number, draw) for number in range(start // 4, start // 4 + 250)])
            clock.moment += timedelta(hours=1)
        for number in range(TURNS // TALK):
            clock.moment += timedelta(minutes=1)
            tool = draw.choice(["kubectl", "helm", "terraform"])
            memory.record_tool_usage(tool, {}, {"error": "refused"}, success=False, latency_ms=5)
            memory.record_tool_usage("make", {}, "ok", success=True, latency_ms=5)
            memory.reflect({"success": True, "task_type": f"deploy {number % 5}"})


def turn(number: int, draw: random.Random, clock: At) -> dict[str, Any]:
    city, day, port = draw.choice(["Lima", "Oslo", "Pune", "Quito"]), draw.randint(1, 28), draw.randint(4000, 4009)
    said = draw.choice(
        [
            f"I moved to {city}. It was on March {day}.",
            f"The billing database listens on port {port}.",
            "We use Redis and Postgres for checkout-api.",
            "We no longer use Jenkins.",
            "No, it's actually 8080.",
            f"Is it cold in {city}?",
            "Always answer in French.",
        ]
    )
    talk, index = divmod(number, TALK)
    return {
        "kind": "turn",
        "id": f"turn-{number}",
        "text": said,
        "conversation_id": f"talk-{talk}",
        "payload": {"index": index, "role": "user"},
        "valid_from": (clock.moment + timedelta(seconds=number)).isoformat(),
        "source": "user",
    }


def note(number: int, draw: random.Random) -> dict[str, Any]:
    text = f"Room {number % 170} has {number % 170 * 7} chairs" + draw.choice(["", "."])
    return {"text": text, "id": f"note-{number}", "importance": draw.choice([0.05, 0.5])}


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


def versions(memory: AgentMemory, status: Status) -> Iterator[Linked]:
    after = 0
    while page := memory.records.versions(status=status, after_seq=after, limit=1000):
        yield from page
        after = page[-1].seq


def comparable(records: list[dict[str, Any]]) -> list[str]:
    """Without what differs from run to run: the ids that are drawn, and the time of the run."""
    names = {one["id"]: f"{one['kind']} {one['key'] or one['text']}" for one in records}
    told = [
        {
            name: value
            for name, value in one.items()
            if name not in NEVER_THE_SAME and not (name == "valid_from" and one["kind"] in SINCE_THEY_WERE_MADE)
        }
        for one in records
    ]
    return sorted(
        re.sub(r"[0-9a-z]{26}", lambda found: names.get(found[0], found[0]), json.dumps(one, sort_keys=True))
        for one in told
    )


def state(store: Path) -> dict[str, Any]:
    with AgentMemory("ada", store=store) as memory:
        proof = memory.upkeep.verify()
        assert proof.ok, proof.problems
        records = [one.model_dump(mode="json") for status in Status for one in versions(memory, status)]
        stats = memory.upkeep.stats()
    with closing(sqlite3.connect(store)) as connection:
        texts = connection.execute("select content, codec, hex(cast(text as blob)) from contents order by 1").fetchall()
    return {
        "records": comparable(records),
        "texts": texts,
        "counts": [stats[name] for name in ("kinds", "records", "versions", "links", "vectors", "pending_vectors")],
    }
