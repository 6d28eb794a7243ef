"""What one process holds, step by step: `python benchmarks/resident.py FILE`; one line of JSON.

RSS in MB as the system counts it, the part of it that is this process's own (`own`, anonymous), and CPU milliseconds
since the step before.
"""

from __future__ import annotations

import json
import os
import sys
import time

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own


class Steps:
    def __init__(self) -> None:
        self.rows: list[dict[str, object]] = []
        self._cpu = 0.0

    def __call__(self, name: str) -> None:
        with open("/proc/self/status") as file:
            sizes = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in file if " kB" in line}
        now = time.process_time()
        row = {"step": name, "rss": sizes["VmRSS"], "own": sizes["RssAnon"], "cpu_ms": (now - self._cpu) * 1e3}
        self.rows.append(row)
        self._cpu = time.process_time()


def main(file: str) -> None:
    step = Steps()
    step("empty interpreter")
    from agent_memory import AgentMemory

    step("import AgentMemory")
    memory = AgentMemory("user00", store=f"sqlite:///{file}")
    step("open")
    memory.embedder.embed("What did we say about the weather?")
    step("model loaded, one text embedded")
    memory.recall("What did we say about the weather?", k=10)
    step("first recall (one user's shelf)")
    others = [AgentMemory(f"user{number:02d}", store=f"sqlite:///{file}") for number in range(1, 20)]
    for other in others:
        other.recall("What did we say about the weather?", k=10)
    step("all 20 users' shelves")
    for number in range(200):
        others[number % 19].recall(f"What did we say about the weather on day {number}?", k=10)
    step("200 recalls more")
    print(json.dumps(step.rows))


if __name__ == "__main__":
    main(sys.argv[1])
