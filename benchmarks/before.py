"""Two versions of the code in one run: python benchmarks/before.py SRC [--n 5000] [--rounds 7] [--calls 40]

SRC is the `src` of a checkout of the version before. Each version has a process and a store of its own; they take
turns, so many calls at a time, and begin in turn, so that both meet the same machine. Vectors come from a table, so
that the model hides nothing. A figure is the median of what the rounds give; a ratio is the median of the rounds'
ratios, now to before, with the least and the greatest of them. CPU is that of the whole process. Cold start is a
process of its own: import, open, first recall. Memory is what a process holds after all that (RssAnon).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from small import at_most

OURS = Path(__file__).resolve().parents[1] / "src"
WORDS = "tea train river letter window garden winter music doctor island paper bridge coffee market".split()
BATCH, THREADS = 100, 8


def text(number: int) -> str:
    said = hashlib.sha256(str(number).encode()).digest()
    return " ".join(WORDS[byte % len(WORDS)] for byte in said[:12]) + f" {number}"


class Calls:
    """In the process of one version: what it is asked to do, so many times. New texts each time."""

    def __init__(self, store: str) -> None:
        import numpy as np

        from agent_memory import AgentMemory
        from agent_memory.ports.embedder import Passage, Space

        class Table:
            space = Space("table", "1", 384)

            def passages(self, text: str) -> list[Passage]:
                return [Passage(0, len(text))]

            def embed_many(self, texts: list[str]) -> Any:
                rows = [np.frombuffer(hashlib.sha384(text.encode()).digest() * 8, "u1") for text in texts]
                made = np.stack(rows).astype("f4") - 127.5
                return made / np.linalg.norm(made, axis=1, keepdims=True)

        self.memory = AgentMemory("ada", store=store, embedder=Table())
        self.written = 0

    def _texts(self, count: int) -> list[str]:
        self.written += count
        return [text(number) for number in range(self.written - count, self.written)]

    def fill(self, count: int) -> None:
        self.memory.records.add_many([{"text": one} for one in self._texts(count)], embed=True)
        self.memory.recall(text(1))

    def add(self, count: int) -> None:
        for one in self._texts(count):
            self.memory.records.add(one)

    def facts(self, count: int) -> None:
        for one in self._texts(count):
            self.memory.records.add(one, payload={"seen": [one] * 20})

    def batch(self, count: int) -> None:
        self.memory.records.add_many([{"text": one} for one in self._texts(BATCH)], embed=True)

    def threads(self, count: int) -> None:
        def work(mine: list[str]) -> None:
            for one in mine:
                self.memory.records.add(one)

        texts = self._texts(max(1, count // THREADS) * THREADS)
        threads = [threading.Thread(target=work, args=(texts[number::THREADS],)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def recall(self, count: int) -> None:
        for number in range(count):
            self.memory.recall(text(number * 37 % max(1, self.written)))

    def held(self) -> float:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("RssAnon"))


def serve(store: str) -> None:
    """Asked by lines of JSON, each answered with seconds of wall and CPU."""
    calls = Calls(store)
    print("ready", flush=True)
    for line in sys.stdin:
        name, *given = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        got = getattr(calls, name)(*given)
        print(json.dumps([time.perf_counter() - wall, time.process_time() - cpu, got]), flush=True)


def cold(store: str) -> None:
    Calls(store).memory.recall(text(3))
    wall = time.time() - float(os.environ["BEGUN"])
    print(json.dumps([wall, time.process_time(), None]), flush=True)


class Version:
    def __init__(self, src: Path, store: Path) -> None:
        self.store = f"sqlite:///{store}"
        self.environment = {**os.environ, "PYTHONPATH": f"{src}", "AGENT_MEMORY_PROCEDURES": "false"}
        self.process = self._start("serve")
        assert self.process.stdout and self.process.stdout.readline() == "ready\n"

    def _start(self, role: str) -> subprocess.Popen[str]:
        environment = {**self.environment, "BEGUN": f"{time.time()}"}
        command = [sys.executable, __file__, role, self.store]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)

    def ask(self, *call: object) -> tuple[float, float, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        wall, cpu, got = json.loads(self.process.stdout.readline())
        return wall, cpu, got

    def cold(self) -> tuple[float, float, Any]:
        told, _ = self._start("cold").communicate(timeout=600)
        wall, cpu, got = json.loads(told)
        return wall, cpu, got

    def end(self) -> None:
        self.process.communicate(timeout=600)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, metavar="SRC")
    parser.add_argument("--n", type=int, default=5000, help="memories in each store at the beginning")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=40, help="calls of a turn; there are five turns in a round")
    given = parser.parse_args()
    given.n, given.rounds, given.calls = at_most(given.n, 30), at_most(given.rounds, 1), at_most(given.calls, 8)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        sides = [
            Version(src.resolve(), Path(folder).resolve() / name / "memory.db")
            for name, src in (("before", given.before), ("now", OURS))
        ]
        try:
            measure(sides, given)
        finally:
            for side in sides:
                side.end()


def measure(sides: list[Version], given: argparse.Namespace) -> None:
    for side in sides:
        side.ask("fill", given.n)
        for call in ("add", "batch", "threads", "recall", "facts"):
            side.ask(call, given.calls)
    rows: dict[str, tuple[int, Callable[[Version], tuple[float, float, Any]]]] = {
        "single durable add": (given.calls, lambda side: side.ask("add", given.calls)),
        "the same, with a payload": (given.calls, lambda side: side.ask("facts", given.calls)),
        f"batch add, {BATCH} a batch": (BATCH, lambda side: side.ask("batch", 1)),
        f"durable adds by {THREADS} threads": (
            max(1, given.calls // THREADS) * THREADS,
            lambda side: side.ask("threads", given.calls),
        ),
        "recall, k = 10": (given.calls, lambda side: side.ask("recall", given.calls)),
        "cold start": (1, Version.cold),
    }
    figures: dict[str, list[list[list[float]]]] = {name: [] for name in rows}
    for round in range(given.rounds):
        for name, (count, call) in rows.items():
            spent = [[0.0, 0.0] for _ in sides]
            turns = at_most(1 if call is Version.cold else 5, 1)
            for turn in range(turns):
                for place in (0, 1) if (round + turn) % 2 else (1, 0):
                    wall, cpu, _ = call(sides[place])
                    spent[place][0] += wall / count / turns * 1000
                    spent[place][1] += cpu / count / turns * 1000
            figures[name].append(spent)
    print("| measure | CPU: ratio (min–max) | CPU ms: before / now | wall: ratio (min–max) | wall ms: before / now |")
    print("|---|---|---|---|---|")
    for name, rounds in figures.items():
        cells = []
        for kind in (1, 0):
            ratios = [now[kind] / before[kind] for before, now in rounds]
            pair = [statistics.median(one[side][kind] for one in rounds) for side in (0, 1)]
            cells.append(f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f}–{max(ratios):.2f})")
            cells.append(f"{pair[0]:.3g} / {pair[1]:.3g}")
        print(f"| {name} | {' | '.join(cells)} |")
    before, now = (side.ask("held")[2] for side in sides)
    print(f"\nmemory: {before:.0f} / {now:.0f} MB, ratio {now / before:.2f}")


if __name__ == "__main__":
    roles = {"serve": serve, "cold": cold}
    if len(sys.argv) == 3 and sys.argv[1] in roles:
        roles[sys.argv[1]](sys.argv[2])
    else:
        main()
