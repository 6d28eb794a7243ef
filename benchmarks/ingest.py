"""Writing with the real model: `python benchmarks/ingest.py [TEXTS]`, texts/s against the bare model.

The same texts in turn, 100 at a time, and the order turns each time: `records.add_many(embed=True)` on a store, and the
embedder alone. Pin it to a core with `taskset -c 0`.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peer
import prepare
from agent_memory import AgentMemory
from agent_memory.engines.onnx.embedder import OnnxEmbedder
from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

BATCH = 100


def main(count: int) -> None:
    prepare.ready()
    texts, model = peer.run.texts(count), OnnxEmbedder()
    model.embed_many(texts[:1])
    spent = {"bare model": [0.0, 0.0], "add_many": [0.0, 0.0]}
    with (
        tempfile.TemporaryDirectory(prefix="ingest-", dir=peer.OUT) as folder,
        AgentMemory("one", store=f"sqlite:///{Path(folder) / 'memory.db'}") as memory,
    ):
        memory.records.add("the first text")
        ways: dict[str, Callable[[list[str]], Any]] = {
            "bare model": model.embed_many,
            "add_many": lambda batch: memory.records.add_many([{"text": text} for text in batch], embed=True),
        }
        for number, start in enumerate(range(0, count, BATCH)):
            for name in list(ways) if number % 2 else reversed(ways):
                wall, cpu = time.perf_counter(), time.process_time()
                ways[name](texts[start : start + BATCH])
                spent[name][0] += time.perf_counter() - wall
                spent[name][1] += time.process_time() - cpu
    print(f"| {count} texts | texts/s | texts/s of CPU |\n|---|---|---|")
    for name, (wall, cpu) in spent.items():
        print(f"| {name} | {count / wall:.0f} | {count / cpu:.0f} |")
    bare, ours = spent.values()
    print(f"| ratio | {bare[0] / ours[0]:.3f} | {bare[1] / ours[1]:.3f} |")


if __name__ == "__main__":
    main(at_most(int(sys.argv[1]) if len(sys.argv) > 1 else 2000, 40))
