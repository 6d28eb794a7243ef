"""What a step of work costs beside a bare durable add: claim, heartbeat, finish, the steps of an agent's cycle.

python benchmarks/life.py [--n 300] [--waiting 300]

One process, one store, everything in turn, so that whatever else the machine does falls on all alike. Vectors are
constant, so that the model's time hides nothing; `waiting` tasks are ready besides the one that is claimed. The figures
are medians, in wall time and as ratios to the add of the same run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from agent_memory import AgentMemory
from agent_memory.ports.embedder import Passage, Space
from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"


class Half:
    space = Space("half", "1", 384)

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> Any:
        return np.full((len(texts), 384), 0.05, np.float32)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--waiting", type=int, default=300)
    given = parser.parse_args()
    took: dict[str, list[float]] = {}

    def timed(name: str, act: Callable[[], Any]) -> Any:
        begun = time.perf_counter()
        answer = act()
        took.setdefault(name, []).append(time.perf_counter() - begun)
        return answer

    with (
        tempfile.TemporaryDirectory() as folder,
        AgentMemory("ada", store=f"{folder}/memory.db", embedder=Half()) as memory,
    ):
        agent = memory.agents.create("bench", "Be quick.")
        for number in range(at_most(given.waiting, 5)):
            memory.tasks.add(f"task {number}", priority=1)
        for number in range(at_most(given.n, 5)):
            timed("add", lambda number=number: memory.records.add(f"note {number}"))
            timed("task: add", lambda number=number: memory.tasks.add(f"next {number}", priority=5))
            _, token = timed("task: claim", lambda: memory.tasks.claim("w"))
            timed("task: heartbeat", lambda token=token: memory.tasks.heartbeat(token))
            timed("task: progress", lambda token=token: memory.tasks.heartbeat(token, progress=0.5))
            timed("task: finish", lambda token=token: memory.tasks.finish(token, "ok"))
            cycle = timed("cycle: begin", lambda: memory.agents.begin(agent.id))
            proposal = {"tool": "x", "arguments": {"number": number}}
            timed("cycle: propose", lambda c=cycle, p=proposal: memory.agents.propose(c.id, c.token, p))
            timed("cycle: result", lambda c=cycle: memory.agents.result(c.id, c.token, {"output": "ok"}))
    usual = statistics.median(took["add"])
    print("| step | ms | ratio to an add |\n|---|---|---|")
    for name, times in took.items():
        middle = statistics.median(times)
        print(f"| {name} | {middle * 1000:.2f} | {middle / usual:.2f} |")


if __name__ == "__main__":
    main()
