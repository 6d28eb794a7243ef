"""A process holds no more memory than it was told to; a bound that it cannot keep is refused. E1, E10.

Nothing here is compared with so many megabytes: a process without a bound asks the same of the same store, and the
bound lies between what it takes and the smallest that this machine can keep."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.doors.served import serving

from agent_memory import AgentMemory
from agent_memory.engines.onnx.embedder import OnnxEmbedder
from agent_memory.ports.embedder import Passage
from warm import FRESH

pytestmark = [pytest.mark.local, pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="/proc tells")]
MANY = 40_000  # memories, of which vectors and words take far more than a process with a bound may have for them
WORDS = [
    f"{first}{second}" for first in "b c d f g k l m n p r s t v w".split() for second in "all ork ine ust".split()
]


class Drawn:
    """Vectors drawn by the text, in the space of the local model, which would take minutes for so many."""

    space = OnnxEmbedder().space

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [np.random.default_rng([*text.encode()]).standard_normal(self.space.dimension) for text in texts]
        return np.array([row / np.linalg.norm(row) for row in rows], np.float32)


def filled(path: Path, memories: int) -> str:
    draw = np.random.default_rng(1)
    with AgentMemory("user0", store=path, embedder=Drawn()) as memory:
        for start in range(0, memories, 4000):
            words = draw.choice(WORDS, (min(4000, memories - start), 4))
            told = [{"text": f"{' '.join(one)} {start + place}"} for place, one in enumerate(words)]
            memory.records.add_many(told, embed=True)
    return str(path)


def ran(code: str, *arguments: str) -> Any:
    done = subprocess.run([sys.executable, "-c", TOOLS + code, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


TOOLS = """
import json, re, sys
def peak():
    with open("/proc/self/status") as file:
        return int(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1]) / 1024
def smallest(store):
    from agent_memory import CPUMemoryEngine
    try:
        CPUMemoryEngine(1, store=store)
    except ValueError as error:
        return int(error.hint.rpartition(" ")[2])
"""
ASK = """
from datetime import UTC, datetime
from agent_memory import AgentMemory, CPUMemoryEngine
class Still:
    def now(self):
        return datetime(2030, 1, 1, tzinfo=UTC)
store, bound = sys.argv[1:]
if bound == "none":
    memory = AgentMemory("user0", store=store)
else:
    engine = CPUMemoryEngine(float(bound), user_id="user0", store=store)
    memory = engine.memory
memory._client.clock = Still()
asked = ["ball work", "when did we pust the mork?", "tine"] * 5
hits = [[(hit.id, hit.score) for hit in memory.recall(one, k=10)] for one in asked]
print(json.dumps({"peak": peak(), "hits": hits}))
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return filled(tmp_path_factory.mktemp("bound") / "m.db", MANY)


@pytest.mark.requirement("E1")
def test_the_kernel_agrees_that_the_bound_is_kept(store: str) -> None:
    free = ran(ASK, store, "none")
    bound = between(ran("print(json.dumps(smallest(sys.argv[1])))", store), free["peak"])
    kept = ran(ASK, store, str(bound))
    assert kept["hits"] == free["hits"], "the same answers, with the same scores"
    assert kept["peak"] <= bound < free["peak"]


@pytest.mark.requirement("E1")
def test_a_server_keeps_the_bound_that_it_is_given(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_STORE", store)
    monkeypatch.setenv("AGENT_MEMORY_USER", "user0")
    refused = subprocess.run([*FRESH, "serve", "--port", "0", "--max-memory", "1"], capture_output=True, text=True)
    assert refused.returncode == 2 and "max_memory" in refused.stderr
    free, found = served()
    bound = between(int(refused.stderr.split()[-1]), free)
    kept, same = served("--max-memory", str(bound))
    assert found == same and all(map(len, found))
    assert kept <= bound < free


def between(smallest: float, free: float) -> float:
    """What a process without a bound takes has to be more than one with the smallest may."""
    assert smallest < free, "the store is too small to tell anything"
    return smallest + (free - smallest) * 3 / 4  # what does not fit is refused: nearer to what it takes without


def served(*options: str) -> tuple[float, list[list[str]]]:
    """The most that a server held, in MB, and what it found."""
    asked = ["ball+work", "when+did+we+pust+the+mork", "tine"] * 3
    with serving("--no-jobs", *options, program=FRESH) as server:
        found = [server.ask("GET", f"/memory/retrieve?q={one}&k=10")[2] for one in asked]
        told = Path(f"/proc/{server.process.pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+)", told)
    assert peak is not None
    return int(peak[1]) / 1024, [[hit["metadata"]["id"] for hit in hits] for hits in found]


@pytest.mark.requirement("E1")
def test_a_bound_that_cannot_be_kept_is_refused(store: str) -> None:
    said = ran("print(json.dumps([smallest(sys.argv[1]), peak()]))", store)
    assert said[0] >= said[1]
    kept = ran(
        "from agent_memory import CPUMemoryEngine as E\nbound = smallest(sys.argv[1])\nE(bound, store=sys.argv[1])\n"
        "print(json.dumps(True))",
        store,
    )
    assert kept is True


@pytest.mark.requirement("E10")
def test_opening_many_memories_takes_what_opening_few_takes(store: str, tmp_path: Path) -> None:
    code = "from agent_memory import AgentMemory\nAgentMemory('user0', store=sys.argv[1])\nprint(json.dumps(peak()))"
    few = filled(tmp_path / "few.db", 500)
    assert ran(code, store) <= 1.3 * ran(code, few)
