"""What the gate costs: adds, gets and recalls with redaction, the access log and review, beside the same without them.

    python benchmarks/gate.py [--n 300] [--rounds 7]

All stores are in one process, and their rounds take turns; a round is CPU time of the whole process, so that lines
written in the background count. `redaction`, `log` and `review` have only one of them; the ratio is the
median of the rounds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from statistics import median

from agent_memory import AgentMemory
from agent_memory.app import config
from agent_memory.app.wiring import Runtime
from small import at_most

TEXT = "On day {} the staging database moved to rack {} and listens on port {}."
PARTS = {
    "redaction": ("AGENT_MEMORY_REDACT", "off", "on"),
    "log": ("AGENT_MEMORY_ACCESS_LOG", "off", "soon"),
    "review": ("AGENT_MEMORY_REVIEW", "off", "on"),
}
WAYS = {
    name: {variable: on if name in (part, "all") else off for part, (variable, off, on) in PARTS.items()}
    for name in ("none", *PARTS, "all")
}


class Bench:
    """One store, and what is asked of it."""

    def __init__(self, folder: str, name: str, n: int) -> None:
        os.environ |= {**WAYS[name], "AGENT_MEMORY_HOME": f"{folder}/{name}", "AGENT_MEMORY_PROCEDURES": "false"}
        self.memory, self._number, self._n = AgentMemory("ada"), 0, n
        self.ids = [self._add() for _ in range(n)]
        assert config.load().access_log == WAYS[name]["AGENT_MEMORY_ACCESS_LOG"]

    def _add(self) -> str:
        self._number += 1
        return self.memory.records.add(TEXT.format(self._number, self._number % 7, 5000 + self._number)).id

    def seconds(self, work: str) -> float:
        """CPU that one call takes."""
        calls: dict[str, Callable[[int], object]] = {
            "add": lambda number: self._add(),
            "get": lambda number: self.memory.records.get(self.ids[number % self._n]),
            "recall": lambda number: self.memory.recall(f"where did the database move on day {number}?"),
        }
        times = self._n if work != "get" else 10 * self._n
        begun = time.process_time()
        for number in range(times):
            calls[work](number)
        self._settle(self.memory._client.runtime)
        return (time.process_time() - begun) / times

    def _settle(self, runtime: Runtime) -> None:
        runtime.receipts.flush()
        runtime.reads.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=at_most(300, 5))
    parser.add_argument("--rounds", type=int, default=at_most(7, 1))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        benches = {name: Bench(folder, name, given.n) for name in WAYS}
        print(f"{'':10}{'none':>10}" + "".join(f"{name:>12}" for name in list(WAYS)[1:]))
        for work in ("add", "get", "recall"):
            rounds = [{name: one.seconds(work) for name, one in benches.items()} for _ in range(given.rounds)]
            base = median(one["none"] for one in rounds)
            ratios = [median(one[name] / one["none"] for one in rounds) for name in list(WAYS)[1:]]
            print(f"{work:10}{base * 1e6:7.0f} µs" + "".join(f"{ratio:12.3f}" for ratio in ratios))
        for one in benches.values():
            one.memory.close()


if __name__ == "__main__":
    main()
