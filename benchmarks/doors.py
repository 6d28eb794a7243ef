"""What a server costs over the call in process: `.venv/bin/python benchmarks/doors.py [--n 2000] [--calls 300]`.

Two copies of one store: one open here, one behind a real server process on loopback. Every call is made on both, one
after the other and in another order each time, so that both meet the same machine; figures are compared as ratios.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_memory import AgentMemory
from agent_memory.models.errors import StoreError
from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

SERVER = """
import socket, uvicorn
from agent_memory.app.service import Service
from agent_memory.interfaces.rest.app import create_app
listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves Nagle on
listening.bind(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(create_app(Service()), log_level="warning")).run([listening])
"""
WHO = "Ada Bob Carol Dmitri Elif Farid Grace Hiro".split()
WHAT = "deployed|rolled back|restarted|patched|scaled|drained|benchmarked|documented".split("|")
WHERE = "the checkout service|the staging database|the build cluster|web-01|the search index".split("|")
WHY = "after the outage|before the audit|because of a memory leak|for the migration|as latency rose".split("|")


def sentence(dice: random.Random) -> str:
    said = f"{dice.choice(WHO)} {dice.choice(WHAT)} {dice.choice(WHERE)} {dice.choice(WHY)}"
    return f"{said}, ticket {dice.randrange(10_000)}"


@contextmanager
def server(store: Path) -> Iterator[tuple[str, int]]:
    environment = {**os.environ, "AGENT_MEMORY_STORE": f"sqlite:///{store}"}
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        while True:
            try:
                AgentMemory("ada", store=url).records.find(limit=1)
                break
            except StoreError:
                time.sleep(0.1)
        yield url, process.pid
    finally:
        process.terminate()
        process.wait(10)


def cpu_of(process: int) -> float:
    """Milliseconds that a process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


class Clocks:
    """Wall time of each call, CPU time of all of them: under load only the latter says what a call costs."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu = 0.0

    def time(self, call: Callable[[], object]) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        self.cpu += (time.process_time() - cpu) * 1000
        self.wall.append((time.perf_counter() - wall) * 1000)


def compare(
    call: Callable[[AgentMemory, str], object], here: AgentMemory, there: AgentMemory, server: int, texts: list[str]
) -> dict[str, float]:
    near, far, before = Clocks(), Clocks(), cpu_of(server)
    for number, text in enumerate(texts):
        turns = [(near, here), (far, there)]
        for clocks, memory in turns if number % 2 else reversed(turns):
            clocks.time(functools.partial(call, memory, text))
    calls = len(texts)
    cpu = far.cpu + cpu_of(server) - before
    figures = {
        "CPU ratio": cpu / near.cpu,
        "wall ratio": statistics.median(far.wall) / statistics.median(near.wall),
        "in process CPU ms": near.cpu / calls,
        "client CPU ms": far.cpu / calls,
        "server CPU ms": (cpu - far.cpu) / calls,
        "in process p50 ms": statistics.median(near.wall),
        "server p50 ms": statistics.median(far.wall),
        "in process p95 ms": statistics.quantiles(near.wall, n=20)[-1],
        "server p95 ms": statistics.quantiles(far.wall, n=20)[-1],
    }
    return {name: round(value, 2) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000, help="memories in the store")
    parser.add_argument("--calls", type=int, default=300, help="calls of each sort")
    given = parser.parse_args()
    given.n, given.calls = at_most(given.n, 20), at_most(given.calls, 4)
    dice = random.Random(5)
    with tempfile.TemporaryDirectory() as folder:
        mine, theirs = Path(folder) / "mine.db", Path(folder) / "theirs.db"
        with AgentMemory("ada", store=mine) as memory:
            memory.records.add_many([{"text": sentence(dice)} for _ in range(given.n)], embed=True)
        shutil.copy(mine, theirs)
        with (
            server(theirs) as (url, process),
            AgentMemory("ada", store=mine) as here,
            AgentMemory("ada", store=url) as there,
        ):
            known = here.records.find(limit=1)[0].id
            calls: dict[str, Callable[[AgentMemory, str], object]] = {
                "recall, k = 10": lambda memory, text: memory.recall(text),
                "single add": lambda memory, text: memory.records.add(text),
                "get": lambda memory, text: memory.records.get(known),
            }
            for name, call in calls.items():
                for text in [sentence(dice) for _ in range(at_most(20, 1))]:  # warm
                    call(here, text)
                    call(there, text)
                row = compare(call, here, there, process, [sentence(dice) for _ in range(given.calls)])
                print(json.dumps({"call": name, "n": given.n, "calls": given.calls, **row}))


if __name__ == "__main__":
    main()
