"""A process holds no more memory than it was told to; a bound that it cannot keep is refused. E1, E10."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AgentMemory
from agent_memory.engines.onnx.embedder import OnnxEmbedder
from agent_memory.ports.embedder import Passage

pytestmark = [pytest.mark.local, pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="/proc tells")]
MORE = 15  # MB over the smallest bound
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
        for start in range(0, memories, 2000):
            texts = [" ".join(draw.choice(WORDS, 12)) for _ in range(min(2000, memories - start))]
            memory.records.add_many([{"text": f"{text} {start}"} for text in texts])
        memory.upkeep.catch_up()
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
from agent_memory import AgentMemory, CPUMemoryEngine
store, user, mode, more = sys.argv[1:]
if mode == "free":
    memory = AgentMemory(user, store=store)
else:
    bound = smallest(store) + int(more)
    engine = CPUMemoryEngine(bound, user_id=user, store=store)
    memory = engine.memory
asked = ["ball work", "when did we pust the mork?", "tine"] * 5
hits = [[(hit.id, round(hit.score, 3)) for hit in memory.recall(one, k=10)] for one in asked]
print(json.dumps({"peak": peak(), "hits": hits, "bound": None if mode == "free" else bound}))
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return filled(tmp_path_factory.mktemp("bound") / "m.db", 6_000)


@pytest.mark.requirement("E1")
def test_the_kernel_agrees_that_the_bound_is_kept(store: str) -> None:
    free = ran(ASK, store, "user0", "free", "0")
    bound = ran(ASK, store, "user0", "bound", str(MORE))
    assert bound["hits"] == free["hits"], "the same answers"
    assert bound["peak"] <= bound["bound"]


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
