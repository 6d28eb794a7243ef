"""What spans cost a recall and a write: there and off, timed for /metrics, sent to a collector (those of every call, or
of one in ten), and not there at all.

python benchmarks/tracing.py [--n 2000] [--calls 1000] [--before SRC]

One process, one store; the sides of a group take turns call by call, each first as often as the others. The figure is
the CPU of the thread that calls, the median; what the thread that sends takes is told for each span. Vectors come from
a table, so that the model's time hides nothing. SRC is the `src` of a checkout without spans: both versions are loaded
side by side.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

WORDS = "tea train river letter window garden winter music doctor island paper bridge coffee market".split()
SENT = at_most(2000, 20)
TENTH = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.1"}
COLLECTOR = """
import sys
from agent_memory.testing.otlp import Collector
with Collector() as collector:
    print(collector.environment["OTEL_EXPORTER_OTLP_ENDPOINT"], flush=True)
    sys.stdin.read()
    print(len(collector.spans), flush=True)
"""


def text(number: int) -> str:
    return " ".join(WORDS[number * step % len(WORDS)] for step in range(1, 9)) + f" {number}"


class Version:
    """One version of the package. `loaded` makes it the one that is imported from, also later."""

    def __init__(self, src: str | None) -> None:
        self._src = src
        self._modules: dict[str, Any] = {}

    @contextlib.contextmanager
    def loaded(self) -> Iterator[None]:
        sys.modules.update(self._modules)
        if self._src:
            sys.path.insert(0, self._src)
        try:
            yield
        finally:
            ours = [name for name in sys.modules if name.partition(".")[0] == "agent_memory"]
            self._modules = {name: sys.modules.pop(name) for name in ours}
            if self._src:
                sys.path.remove(self._src)

    def memory(self) -> Any:
        with self.loaded():
            import numpy as np

            from agent_memory import AgentMemory
            from agent_memory.ports.embedder import Passage, Space

            class Table:
                space = Space("table", "1", 384)

                def passages(self, text: str) -> list[Any]:
                    return [Passage(0, len(text))]

                def embed_many(self, texts: list[str]) -> Any:
                    seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) for text in texts]
                    rows = [np.random.default_rng(seed).standard_normal(384) for seed in seeds]
                    made = np.array(rows, np.float32).reshape(-1, 384)
                    return made / np.linalg.norm(made, axis=1, keepdims=True)

            return AgentMemory("ada", embedder=Table())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--before", help="the src of another checkout")
    asked = parser.parse_args()
    asked.n, asked.calls = at_most(asked.n, 20), at_most(asked.calls, 2)
    os.environ["AGENT_MEMORY_HOME"] = tempfile.mkdtemp()
    now = Version(None)
    memory = now.memory()
    with now.loaded():
        for start in range(0, asked.n, 500):
            memory.records.add_many([{"text": text(one)} for one in range(start, min(start + 500, asked.n))])
        from agent_memory.app.service import Service
        from agent_memory.engines.opentelemetry.tracer import OtelTracer
        from agent_memory.interfaces.rest.metrics import Metrics
        from agent_memory.ports import spans

        told = subprocess.Popen(
            [sys.executable, "-c", COLLECTOR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = told.stdout.readline().strip()
        on = OtelTracer("benchmark")
        os.environ.update(TENTH)
        tenth = OtelTracer("benchmark")
        note = Metrics(Service()).noted
    sides: dict[str, tuple[Version, Any, Any, Any]] = {
        "off": (now, memory, None, None),
        "parts": (now, memory, None, note),
        "on": (now, memory, on, None),
        "tenth": (now, memory, tenth, None),
    }
    if asked.before:
        before = Version(asked.before)
        sides["before"] = (before, before.memory(), None, None)

    def timed(side: str, call: Callable[[Any], object]) -> float:
        version, memory, tracer, note = sides[side]
        with version.loaded(), spans.noted(note):
            spans.use(tracer)
            begun = time.thread_time()
            call(memory)
            taken = time.thread_time() - begun
            spans.use(None)
        return taken * 1000

    calls: dict[str, Callable[[int], Callable[[Any], object]]] = {
        "recall": lambda one: lambda memory: memory.recall(text(one * 37)),
        "write": lambda one: lambda memory: memory.records.add(text(10**6 + one)),
    }
    fresh = itertools.count()
    groups = [("off", "parts", "on", "tenth")]
    for group in [("before", "off"), *groups] if asked.before else groups:
        for name, make in calls.items():
            taken: dict[str, list[float]] = {side: [] for side in group}
            for number in range(-at_most(30, 1), asked.calls):
                for place in range(len(group)):
                    side = group[(place + number) % len(group)]
                    spent = timed(side, make(next(fresh)))
                    if number >= 0:
                        taken[side].append(spent)
            middle = {side: statistics.median(found) for side, found in taken.items()}
            for side, found in middle.items():
                print(f"{name:7} {side:7} {found:6.3f} ms   {found / middle[group[0]]:.3f} of {group[0]}")
    with now.loaded():
        memory.close()
    time.sleep(6)  # until all of them are sent
    elsewhere = time.process_time() - time.thread_time()
    for _ in range(SENT):
        with on.span("one", spans.Side.INSIDE, {"number": 1}, None):
            pass
    on.end()
    elsewhere = time.process_time() - time.thread_time() - elsewhere
    print(f"sending took {elsewhere / SENT * 1e6:.0f} µs of CPU for each span; {told.communicate('')[0].strip()} came")


if __name__ == "__main__":
    main()
