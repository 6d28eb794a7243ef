"""Our benchmark, one command: `make bench`, or `.venv/bin/python benchmarks/run.py [--n 100000] [--rounds 2]`.

Ours and the references run in turn, each phase in a process of its own, round after round; figures are compared as
ratios within a round, in CPU time. Rows go to `benchmarks/out/results-N.jsonl`, tables to the terminal. See README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import faults
import peer
import prepare
import tables
from small import at_most, bytecode

REFERENCES = ["sqlite_fts", "sqlite_numpy", "sqlite_numpy_user"]
HERE = Path(__file__).resolve().parent
IMPORTS = [
    "import pydantic",
    "import agent_memory",
    "from pydantic import BaseModel",
    "from agent_memory import AgentMemory",
]
SINGLE_ADDS = at_most(1000, 10)
TIMED = """import time
cpu, wall = time.process_time(), time.perf_counter()
{}
print(time.process_time() - cpu, time.perf_counter() - wall)"""


def environment() -> dict[str, str]:
    """One thread each, and bytecode as an installed package has it: beside the sources of nobody."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    env |= {"PERF_EXTRA": str(SINGLE_ADDS), "PERF_NO_RECALL": "1"}
    return env | bytecode(peer.OUT / "pycache")


def child(python: str, system: str, n: int, phase: str, store: Path, model: str = "cached") -> dict[str, Any]:
    command = [python, str(HERE / "peer.py"), system, str(n), "--child", phase, "--store", str(store)]
    command += ["--model", model, "--budget", "600"]
    env = environment() | {"PERF_T0": repr(time.time()), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("RESULT "):
            return {"system": system, "n": n, "phase": phase, "load1": os.getloadavg()[0], **json.loads(line[7:])}
    raise SystemExit(f"{system} {phase} failed:\n{done.stderr[-2000:]}")


def one_round(number: int, n: int, pythons: dict[str, str], folder: Path) -> Iterable[dict[str, Any]]:
    """Every system loads, is asked, and (ours and the naive reference) starts cold; the order turns each round."""
    systems = list(pythons)
    turned = systems[number % len(systems) :] + systems[: number % len(systems)]
    cold = [system for system in turned if system in (tables.OURS, "sqlite_numpy")]
    for system in turned:
        store = folder / system
        shutil.rmtree(store, ignore_errors=True)
        store.mkdir()
        row = child(pythons[system], system, n, "load", store)
        yield {"round": number, "disk_after_searches": peer.run.du(store), **row}
        if system not in cold:
            shutil.rmtree(store)
    for again in range(at_most(4, 2)):
        for system in cold:
            row = child(pythons[system], system, n, "cold", folder / system, model="real")
            if again:  # the first fills the file cache, and writes bytecode where there is none
                yield {"round": number, **row}


def import_times(rounds: int) -> dict[str, list[tuple[float, float]]]:
    times: dict[str, list[tuple[float, float]]] = {statement: [] for statement in IMPORTS}
    for number in range(rounds + 1):
        for statement, some in times.items():
            command = [sys.executable, "-c", TIMED.format(statement)]
            done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
            if number:  # the first writes bytecode
                cpu, wall = map(float, done.stdout.split())
                some.append((cpu, wall))
    return times


def resident(store: Path) -> list[dict[str, Any]]:
    command = [sys.executable, str(HERE / "resident.py"), str(store / "memory.db")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    steps: list[dict[str, Any]] = json.loads(done.stdout)
    return steps


def show(title: str, lines: Iterable[str]) -> None:
    print(f"\n### {title}\n", flush=True)
    for line in lines:
        print(line, flush=True)


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=10_000, help="memories (at most 100,000)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--langgraph",
        default=os.environ.get("AGENT_MEMORY_LANGGRAPH"),
        help="an interpreter that has langgraph-checkpoint-sqlite and numpy, and can load SQLite's extensions",
    )
    parser.add_argument("--no-faults", action="store_true", help="leave out the two writers and the kills")
    return parser.parse_args()


def main() -> None:
    options = asked()
    options.n, options.rounds = at_most(options.n, 60), at_most(options.rounds, 1)
    prepare.ready()
    pythons = dict.fromkeys([tables.OURS, *REFERENCES], sys.executable)
    if options.langgraph:
        pythons["lg_sqlite"] = options.langgraph
    print(f"{time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {os.cpu_count()} cores, N = {options.n:,}")
    rows: list[dict[str, Any]] = []
    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=peer.OUT) as name,
        open(peer.OUT / f"results-{options.n}.jsonl", "w", encoding="utf-8") as file,
    ):
        folder = Path(name)
        for number in range(options.rounds):
            for row in one_round(number, options.n, pythons, folder):
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
                print(f"round {number + 1}: {row['system']} {row['phase']}", file=sys.stderr)
        show(f"Against the references, {options.rounds} rounds", tables.against(rows))
        show("Disk", tables.disk(rows))
        show("Resident memory", tables.resident(resident(folder / tables.OURS)))
        show("Import", tables.imports(import_times(at_most(9, 1))))
        if not options.no_faults:
            os.environ.update(environment())
            show("Faults", [faults.two(folder), *faults.kills(folder)])


if __name__ == "__main__":
    main()
