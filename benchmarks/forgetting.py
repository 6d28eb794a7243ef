"""What a forget costs: bytes written, its time, and how long another writer waits meanwhile.

`.venv/bin/python benchmarks/forgetting.py [--records 40000] [--forgets 10]`
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import threading
import time
from pathlib import Path

from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

PAGE = 2000


def written() -> int:
    """Bytes that this process has written so far, to files and pipes."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


def filled(store: Path, records: int) -> list[str]:
    from agent_memory import AgentMemory

    chance = random.Random(1)
    words = [f"word{number}" for number in range(5000)]
    ids = [f"{chance.getrandbits(64):016x}" for _ in range(records)]
    with AgentMemory("ada", store=store) as memory:
        for start in range(0, records, PAGE):
            texts = [" ".join(chance.choices(words, k=40)) for _ in ids[start : start + PAGE]]
            memory.records.add_many(
                [{"id": id, "text": text} for id, text in zip(ids[start : start + PAGE], texts, strict=True)]
            )
    return ids


class Writer(threading.Thread):
    """Another client, writing to its desk all the time; `waits` are the seconds that each write took."""

    def __init__(self, store: Path) -> None:
        super().__init__(daemon=True)
        self.store, self.waits, self.ended = store, [0.0], threading.Event()

    def run(self) -> None:
        import sqlite3

        connection = sqlite3.connect(self.store, isolation_level=None, timeout=30)
        while not self.ended.wait(0.005):
            begun = time.perf_counter()
            connection.execute("begin immediate")
            connection.execute("rollback")
            self.waits.append(time.perf_counter() - begun)
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=40_000)
    parser.add_argument("--forgets", type=int, default=10)
    options = parser.parse_args()
    options.records, options.forgets = at_most(options.records, 400), at_most(options.forgets, 2)
    from agent_memory import AgentMemory

    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "memory.db"
        ids = filled(store, options.records)
        size = store.stat().st_size
        print(f"a store of {options.records} records, {size / 1e6:.1f} MB")
        with AgentMemory("ada", store=store) as memory:
            memory.records.get(ids[0])
            writer = Writer(store)
            writer.start()
            costs = []
            for id in random.Random(2).sample(ids, options.forgets):
                before, begun = written(), time.perf_counter()
                scrubbed = memory.records.forget([id]).scrubbed
                costs.append((written() - before, time.perf_counter() - begun, scrubbed))
                time.sleep(0.2)  # one after the other, as people forget
            writer.ended.set()
            writer.join()
    for name, rows in (("the first forget", costs[:1]), ("a later one, median", costs[1:])):
        if rows:
            many, seconds = (statistics.median(row[place] for row in rows) for place in (0, 1))
            print(
                f"{name}: {many / 1e6:.2f} MB written ({many / size:.3f} of the store), {seconds * 1000:.0f} ms, "
                f"scrubbed {sum(row[2] for row in rows)} of {len(rows)}"
            )
    print(f"another writer waited at most {max(writer.waits) * 1000:.0f} ms")


if __name__ == "__main__":
    main()
