"""From how many memories on it is cheaper to look a reader up in PostgreSQL than to search it in memory:

    .venv/bin/python benchmarks/crossing.py [--sizes 25000 50000 100000 200000] [--calls 60] [--rounds 3]

One user's memories grow from size to size; at each they are prepared, and then asked in turn from memory and looked up
(`AGENT_MEMORY_SHELF_LINES`), on the same rows. Milliseconds of CPU a recall, of the client and of the database, the
median of the rounds. `plain` are texts of few different words, of which nearly every memory has one that was asked for,
which is the most there can be to score; `varied` are texts in which most words are rare.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import agent_memory

sys.path.insert(0, str(Path(agent_memory.__file__).resolve().parents[2]))  # where the tests start their servers

from tests.parts.postgres import Server

from agent_memory import AgentMemory
from before import text
from postgres import FILLED, LookedUp, Ours, measured
from small import at_most

WORDS = 20_000  # different ones of varied texts


def varied(number: int) -> str:
    """Twelve words by Zipf's law, and some that all have."""
    digest = hashlib.sha384(str(number).encode()).digest()
    own = (f"w{int(WORDS ** (int.from_bytes(digest[at : at + 4]) / 2**32))}" for at in range(0, 48, 4))
    return f"On day {number % 365} of the year it was noted: {' '.join(own)}."


class Growing(Ours):
    def __init__(self, store: str, said: Callable[[int], str]) -> None:
        super().__init__(store)
        self.said = said

    def _batch(self, size: int) -> None:
        self.memory.records.add_many([{"text": self.said(next(self.numbers))} for _ in range(size)], embed=True)

    def recall(self, calls: int) -> None:
        ask(self.memory, self.said, calls)


class LookedUpToo(LookedUp):
    def __init__(self, store: str, said: Callable[[int], str]) -> None:
        super().__init__(store)
        self.said = said

    def recall(self, calls: int) -> None:
        ask(self.memory, self.said, calls)


def ask(memory: AgentMemory, said: Callable[[int], str], calls: int) -> None:
    for number in range(calls):
        memory.recall(said(number * 7), k=10)


def run(server: Server, name: str, said: Callable[[int], str], sizes: list[int], calls: int, rounds: int) -> None:
    uri, there = server.fresh(), 0
    memory, looked_up = Growing(uri, said), LookedUpToo(uri, said)
    for size in sizes:
        started = time.perf_counter()
        memory.fill(size - there)
        there, filled = size, time.perf_counter() - started
        looked_up.fill(size)
        prepared = time.perf_counter() - started - filled
        server.execute("vacuum analyze", database=uri.rpartition("/")[2])
        told: dict[str, list[float]] = {}
        for one in (memory, looked_up):
            one.recall(3)
        for _ in range(rounds):
            for way, one in (("memory", memory), ("looked up", looked_up)):
                _, client, database = measured(server, one.recall, calls, 1)
                for part, cost in (("", client + database), (", client", client), (", database", database)):
                    told.setdefault(way + part, []).append(cost)
        shown = [f"{statistics.median(one):.1f}" for one in told.values()]
        ratio = statistics.median(b / a for a, b in zip(told["memory"], told["looked up"], strict=True))
        print(f"| {name} | {size:,} | {' | '.join(shown)} | {ratio:.2f} | {filled:.0f} | {prepared:.0f} |", flush=True)
    memory.close()
    looked_up.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[25_000, 50_000, 100_000, 200_000])
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sizes = sorted({at_most(size, FILLED // 5) for size in options.sizes})
    calls, rounds = at_most(options.calls, 3), at_most(options.rounds, 1)
    server = Server(18, shared_buffers="512MB", maintenance_work_mem="512MB", autovacuum="on")
    ways = "in memory | client | database | looked up | client | database"
    print(f"| texts | memories | {ways} | ratio | s to fill | s to prepare |")
    print("|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    try:
        for name, said in (("plain", text), ("varied", varied)):
            run(server, name, said, sizes, calls, rounds)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
