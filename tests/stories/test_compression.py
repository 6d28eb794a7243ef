"""Cold texts are kept compressed, by a job, and nobody who asks us notices. E2."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.app.episodes import retrieve
from agent_memory.ledger import codecs

pytestmark = pytest.mark.requirement("E2")
DAYS = 30
CLI = [sys.executable, "-m", "agent_memory.interfaces.cli"]
TEXTS = [
    "I've been thinking about taking a pottery class, it seems like a great way to relax after work.",
    "The pump in hall three lost pressure again last night, and the valve behind it was replaced.",
    "We are planning to visit my sister in California next month, we haven't seen her in years.",
    "naïve 東京 \U0001f40d, and we were all so happy about the concert that we went to last weekend",
    "ok",
]
Open = Callable[..., AgentMemory]


@pytest.fixture
def opened(clock: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A memory with texts, and how to open it again with another way of keeping them."""
    made: list[AgentMemory] = []

    def open(how: str) -> AgentMemory:
        while made:
            made.pop().close()
        monkeypatch.setenv("AGENT_MEMORY_COMPRESS", how)
        made.append(AgentMemory("ada", clock=clock))
        return made[-1]

    memory = open("off")
    for number, text in enumerate(TEXTS):
        memory.records.add(text, id=f"r{number}")
    memory.learn_fact("Bo is on call for the pump in hall three this week", subject="on call", predicate="is")
    memory.learn_fact("Kim is on call for the pump in hall three this week", subject="on call", predicate="is")
    yield open
    made.pop().close()


def told(memory: AgentMemory) -> list[Any]:
    """Everything that a reader can ask for."""
    fact = memory.records.find(kind="fact")[0]
    return [
        [one.model_dump() for one in memory.records.versions()],
        [one.model_dump() for one in memory.records.history(fact.id)],
        memory.records.get(fact.id, as_of=fact.recorded_at).model_dump(),
        [(hit.id, hit.text, hit.score) for hit in memory.recall("who is on call at the pump?", k=20)],
        (proof := memory.upkeep.verify()).head,
        proof.problems,
    ]


def sizes(memory: AgentMemory) -> dict[str, Any]:
    found: dict[str, Any] = memory.upkeep.stats()["compression"]
    return found


@pytest.mark.parametrize("how", ["zstd", "lz4"])
def test_cold_texts_are_compressed_and_read_as_before(opened: Open, clock: Any, how: str) -> None:
    memory = opened(how)
    memory.records.add(TEXTS[0] * 9, id="long")
    memory.upkeep.catch_up()
    assert memory.upkeep.run_jobs()["compress"]["texts"] == 0, "nothing is cold yet"
    assert sizes(memory)["text_ratio"] == 1.0 and sizes(memory)["texts"]["encoded"] == 0
    clock.forward(days=DAYS + 1)
    memory.records.add(TEXTS[1] * 9, id="warm")
    warm = told(memory)
    done = memory.upkeep.run_jobs()["compress"]["texts"]
    assert done >= 1 and memory.upkeep.run_jobs()["compress"]["texts"] == 0, "twice is once"
    assert told(memory) == warm
    assert sizes(memory)["text_ratio"] > 1 and sizes(memory)["texts"]["encoded"] == done
    kept = {
        one["metadata"]["id"]: one["metadata"]["compressed"]
        for one in retrieve(memory._client.ask, "the pottery class", 9)
    }
    assert kept["long"] and not kept["warm"] and not kept["r4"], "what would not be smaller stays as it is"


def test_it_can_be_changed_and_undone(opened: Open, clock: Any) -> None:
    memory = opened("zstd")
    clock.forward(days=DAYS + 1)
    before = told(memory)
    encoded = memory.upkeep.run_jobs()["compress"]["texts"]
    assert encoded == len(TEXTS) - 1 + 2, "also an older version, also a sentence"
    memory = opened("off")
    assert "compress" not in memory.upkeep.run_jobs() and told(memory) == before
    assert sizes(memory)["texts"]["encoded"] == encoded, "what is compressed can be read, and stays"
    memory = opened("plain")
    assert memory.upkeep.run_jobs()["compress"]["texts"] == encoded
    assert sizes(memory)["texts"]["encoded"] == 0 and told(memory) == before
    memory = opened("zstd")
    assert memory.upkeep.run_jobs()["compress"]["texts"] == encoded


def test_forget_rebuild_and_move_what_is_compressed(opened: Open, clock: Any, tmp_path: Path) -> None:
    memory = opened("zstd")
    clock.forward(days=DAYS + 1)
    memory.upkeep.run_jobs()
    before = memory.recall("pottery class").hits[0].id
    memory.upkeep.rebuild(vectors=True)
    assert memory.recall("pottery class").hits[0].id == before == "r0"
    memory.records.forget(["r0"])
    assert "r0" not in [hit.id for hit in memory.recall("pottery class", k=20)]
    assert memory.upkeep.verify().ok
    lines = [one.model_dump() for one in memory.records.versions()]
    url = memory._client.settings.store_url
    opened("off").close()
    there = tmp_path / "there.db"
    moved = subprocess.run([*CLI, "migrate", url, str(there)], capture_output=True, text=True)
    assert moved.returncode == 0, moved.stderr
    with AgentMemory("ada", store=there, clock=clock) as other:
        assert [one.model_dump() for one in other.records.versions()] == lines
        assert other.upkeep.verify().ok
    opened("off")


@pytest.mark.local
def test_a_short_text_needs_the_dictionary(opened: Open, clock: Any, tmp_path: Path) -> None:
    """Which is shipped, named by its number, and gives the same bytes for ever: old files always decode."""
    text = TEXTS[0].encode()
    small = codecs.encoded(text, "zstd-1")
    alone = codecs.encoded(text, "zstd")
    assert small is not None and len(small) < len(alone or text) * 0.7
    kept = bytes.fromhex(FOREVER)
    assert codecs.plain(kept, "zstd-1") == TEXTS[0]
    for cut in range(1, len(kept)):
        with pytest.raises(ValueError):
            codecs.plain(kept[:cut], "zstd-1")


@pytest.mark.local
def test_a_job_that_is_killed_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with AgentMemory("ada", store=path) as memory:
        memory.records.add_many([{"text": f"{TEXTS[number % 4]} {number}"} for number in range(400)])
        whole = [one.text for one in memory.records.versions()]
    environment = {**os.environ, "AGENT_MEMORY_COMPRESS": "zstd", "AGENT_MEMORY_COMPRESS_DAYS": "0"}
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], env=environment, capture_output=True, text=True)
    assert killed.returncode == 9, killed.stderr
    assert 0 < count(path) < 400
    command = [*CLI, "--store", str(path), "worker", "--once", "--job", "compress"]
    went = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert went.returncode == 0, went.stderr
    assert json.loads(went.stdout)["did"]["left"] == 0 and count(path) == 400
    with AgentMemory("ada", store=path) as memory:
        assert [one.text for one in memory.records.versions()] == whole and memory.upkeep.verify().ok


KILLED = """
import os, sys
from agent_memory import AgentMemory
from agent_memory.core.upkeep import compress
from agent_memory.ports.store import Recoded
memory = AgentMemory("ada", store=sys.argv[1])
store, done = memory._client.runtime.store, []
recode = store.recode
def counted(*given, **more):
    if len(done) == 3:
        os._exit(9)
    done.append(1)
    return recode(*given, **more)
object.__setattr__(store, "recode", counted)
memory.upkeep.run_jobs()
"""


def count(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        found: int = connection.execute("select count(*) from contents where codec = 'zstd-1'").fetchone()[0]
        return found
    finally:
        connection.close()


FOREVER = "205fad000048492c2069776f726b2e03c08bc50120e492a6101d"
