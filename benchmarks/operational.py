"""What a push costs: against an append to a `deque`, and a block of a thousand against one durable record, in one run.

python benchmarks/operational.py
"""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from statistics import median

from agent_memory import AgentMemory
from agent_memory.models import Event
from small import at_most

ROUNDS = at_most(40, 3)
PUSHES = 1_000


def took(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, AgentMemory("ada", store=Path(folder) / "memory.db") as memory:
        event = Event(category="net", payload={"n": 1, "host": "web-1"})
        memory.operational.push_event(event)
        memory.records.add("warm")
        push, append = memory.operational.push_event, deque[Event](maxlen=10_000).append

        def each(call: Callable[[Event], object]) -> None:
            for _ in range(PUSHES):
                call(event)

        def block() -> None:
            each(push)
            memory._client.runtime.rings.flush(memory._client.scope)

        rows = {
            "append to a deque": [took(lambda: each(append)) / PUSHES for _ in range(ROUNDS)],
            "push_event": [took(lambda: each(push)) / PUSHES for _ in range(ROUNDS)],
            "one durable record": [took(lambda: memory.records.add("a record of a few words")) for _ in range(ROUNDS)],
            "block of 1,000 pushes, written": [took(block) for _ in range(ROUNDS)],
            "snapshot": [took(memory.operational.get_system_snapshot) for _ in range(ROUNDS)],
        }
        found = {name: median(times) for name, times in rows.items()}
        for name, seconds in found.items():
            print(f"{name:32} {seconds * 1e6:12.2f} µs")
        print(f"a push is {found['push_event'] / found['append to a deque']:.1f} appends")
        ratio = found["block of 1,000 pushes, written"] / found["one durable record"]
        print(f"a block of 1,000 pushes is {ratio:.1f} durable records")


if __name__ == "__main__":
    main()
