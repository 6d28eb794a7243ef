"""One user with very many memories: `python benchmarks/scale.py [N] [QUESTIONS] [--alone] [--store FILE]`.

LoCoMo's turns and variations of them (see prepare.py), with their speakers and dates, 20 to a conversation, so that
every channel has work; with `--alone` they are observations without a conversation. Above 102,000 they repeat with
another ending and a vector turned a little. The public API, the default recipe, k = 10, vectors from a table, a clock
that stands still. Pin it to a core with `taskset -c 0`.

Prints the times of a recall, of the first one, what is held and stored, and in which functions the time goes.
`--store` keeps the store, and takes it as it is if it is there. What was answered is compared by same.py.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import peer
import prepare
from agent_memory import AgentMemory
from small import at_most

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

BATCH = 3_000  # a turn is three changes, and a write has at most 10,000
TURNS = 20
TURNED = 0.1  # how far a repeated text's vector is turned
NOW = datetime(2025, 1, 1, tzinfo=UTC)


class Standing:
    """A clock that does not move."""

    def now(self) -> datetime:
        return NOW


class Repeated(peer.Known):
    """The table of vectors, also for texts that end in `#1`, `#2`, …: turned a little, each time another way."""

    def embed_many(self, texts: Any) -> Any:
        split = [text.rsplit(" #", 1) for text in texts]
        rows = np.array(self._table.np([parts[0] for parts in split]))
        turns = np.array([int(parts[1]) if len(parts) == 2 and parts[1].isdecimal() else 0 for parts in split])
        for turn in np.unique(turns[turns > 0]):
            here = turns == turn
            rows[here] += TURNED * np.roll(rows[here], int(turn), axis=1)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def records(count: int, alone: bool) -> Iterator[dict[str, Any]]:
    texts = peer.run.texts(102_000)
    for number in range(count):
        turn, place = divmod(number, len(texts))
        said, text = texts[place].split("): ", 1)
        speaker, at = said.split(" (", 1)
        text = f"{texts[place]} #{turn}" if turn else texts[place]
        begins = datetime.strptime(at, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC) + timedelta(seconds=turn)
        record = {"id": str(number), "text": text, "valid_from": begins}
        if not alone:
            payload = {"index": number % TURNS, "role": "user", "speaker": speaker}
            record |= {"kind": "turn", "conversation_id": f"talk {number // TURNS}", "payload": payload}
        yield record


def fill(memory: AgentMemory, count: int, alone: bool) -> None:
    cpu, batch = time.process_time(), []
    for record in records(count, alone):
        batch.append(record)
        if len(batch) == BATCH:
            memory.records.add_many(batch, embed=True)
            batch = []
    if batch:
        memory.records.add_many(batch, embed=True)
    print(f"| ingest | {(time.process_time() - cpu) / count * 1e6:.0f} µs of CPU a memory |", flush=True)


def timed(ask: Callable[[str], Any], questions: list[str]) -> tuple[list[float], list[float]]:
    wall, cpu = [], []
    for question in questions:
        started, used = time.perf_counter(), time.process_time()
        ask(question)
        wall.append((time.perf_counter() - started) * 1e3)
        cpu.append((time.process_time() - used) * 1e3)
    return wall, cpu


def spread(times: list[float]) -> str:
    ordered = sorted(times)
    return f"p50 {statistics.median(ordered):.1f}, p95 {ordered[int(len(ordered) * 0.95)]:.1f}"


def resident() -> float:
    return float(peer.run.status("VmRSS"))


def dominating(ask: Callable[[str], Any], questions: list[str], most: int = 22) -> Iterator[str]:
    """Our functions by the time until they return, what they call included, in ms a recall."""
    profile = cProfile.Profile()
    for question in questions:
        profile.runcall(ask, question)
    rows = []
    for (file, _, name), (_, calls, _, within, _) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        if "agent_memory" in file:
            rows.append((within / len(questions) * 1e3, calls / len(questions), f"{Path(file).stem}.{name}"))
    for within, calls, name in sorted(rows, reverse=True)[:most]:
        yield f"| {name} | {within:.2f} | {calls:.1f} |"


def asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n", type=int, nargs="?", default=100_000)
    parser.add_argument("questions", type=int, nargs="?", default=200)
    parser.add_argument("--alone", action="store_true", help="observations instead of turns of conversations")
    parser.add_argument("--store", type=Path, help="a file to keep")
    return parser.parse_args()


def main() -> None:
    options = asked()
    options.n, options.questions = at_most(options.n, 60), at_most(options.questions, 3)
    prepare.ready()
    with tempfile.TemporaryDirectory(prefix="scale-", dir=peer.OUT) as folder:
        file = options.store or Path(folder) / "memory.db"
        there = file.exists()
        questions = peer.run.queries()[: options.questions]
        embedder = Repeated(peer.embed.CachedEmbedder(0 if there else prepare.TEXTS))
        print(f"| {options.n:,} memories of one user, {len(questions)} questions | |\n|---|---|")
        make = {"store": f"sqlite:///{file}", "embedder": embedder, "clock": Standing()}
        with AgentMemory("one", **make) as memory:
            if not there:
                fill(memory, options.n, options.alone)
            print(f"| on disk | {memory.upkeep.stats()['bytes_on_disk'] / 1e6:.0f} MB |")
        embedder._table = peer.embed.CachedEmbedder()  # the questions only: the rest is not ours to hold
        before = resident()
        with AgentMemory("one", **make) as memory:
            first, used = timed(memory.recall, questions[:1])
            wall, cpu = timed(memory.recall, questions)
            print(f"| first recall | {first[0]:.0f} ms, CPU {used[0]:.0f} |")
            print(f"| recall, wall ms | {spread(wall)} |\n| recall, CPU ms | {spread(cpu)} |")
            print(f"| resident MB | {before:.0f} before, {resident():.0f} after |")
            print("\n| function, with all that it calls | ms a recall | calls |\n|---|---|---|")
            print("\n".join(dominating(memory.recall, questions[:50])))


if __name__ == "__main__":
    main()
