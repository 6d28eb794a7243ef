"""Merging memories that state the same: what becomes of restatements and look-alikes, of recall, and how long it takes.

    .venv/bin/python benchmarks/merging.py [--sizes 1000 10000 100000]

1. The labelled set in `merging/`, with our own model: how much of a redundant stream goes, and how many pairs of
   look-alikes, or lines of two groups, were merged: these are facts that were lost. Even numbers were held out.
2. Recall@10 on operations: as it is, with every item told a second time, and with that after merging. An item counts as
   found when the record that it was merged into is.
3. Time, CPU and memory of a process for one pass, and of a second pass that finds nothing. Texts are synthetic, three
   of ten are told again; vectors come from a table, so that the model's time hides nothing. Against that, all pairs of
   a sample are compared: which share of those that should be merged was.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agent_memory import AgentMemory
from agent_memory.core.upkeep.agreement import form
from agent_memory.core.upkeep.merging import ALIKE, FEWEST
from agent_memory.ports.embedder import Passage, Space
from small import SMALL, at_most

HERE = Path(__file__).parent
NOW = datetime(2026, 3, 2, tzinfo=UTC)
FILLING = [f"Shelf {number} holds {number * 7} boxes of paper" for number in range(FEWEST)]
AGAIN = ("Note that {}", "{}.", "By the way, {}")


def labelled() -> tuple[list[list[str]], list[list[str]]]:
    groups = (HERE / "merging" / "restated.txt").read_text("utf-8").strip().split("\n\n")
    pairs = (HERE / "merging" / "different.txt").read_text("utf-8").splitlines()
    return [one.split("\n") for one in groups], [one.split(" | ") for one in pairs]


def opened(folder: str, name: str, **more: object) -> AgentMemory:
    return AgentMemory("ada", store=Path(folder) / f"{name}.db", **more)  # type: ignore[arg-type]


def stream(folder: str) -> None:
    groups, pairs = labelled()
    print("| half | groups | told again | removed | look-alikes | facts lost |\n|---|---|---|---|---|---|")
    for half, name in ((1, "tuned on"), (0, "held out")):
        own = [lines for number, lines in enumerate(groups, 1) if number % 2 == half]
        alike = [lines for number, lines in enumerate(pairs, 1) if number % 2 == half]
        which = {f"g{at} {place}": (at, text) for at, lines in enumerate(own) for place, text in enumerate(lines)}
        look = {f"p{at} {place}": (-1 - at, text) for at, lines in enumerate(alike) for place, text in enumerate(lines)}
        with opened(folder, name) as memory:
            told = [{"id": id, "text": text} for id, (_, text) in (which | look).items()]
            memory.records.add_many([*({"text": text} for text in FILLING), *told])
            memory.upkeep.catch_up()
            made = [one.sources for one in memory.upkeep.consolidate().groups]
        again = sum(len(lines) - 1 for lines in own)
        removed = sum(max(0, sum(id in which for id in ids) - 1) for ids in made)
        lost = [ids for ids in made if _lost(ids, which, look)]
        share = f"{removed} ({removed / again:.0%})"
        print(f"| {name} | {len(own)} | {again} | {share} | {len(alike)} | {len(lost)} |")


def _lost(ids: Sequence[str], which: dict[str, tuple[int, str]], look: dict[str, tuple[int, str]]) -> bool:
    """Both sides of a pair, or lines of two groups: together in one record."""
    pairs = [look[id][0] for id in ids if id in look]
    return len(pairs) != len(set(pairs)) or len({which[id][0] for id in ids if id in which}) > 1


def recall(folder: str) -> None:
    lines = (HERE / "operations" / "operations.jsonl").read_text("utf-8").splitlines()
    sets = [json.loads(line) for line in lines][6:]
    print("\n| recall@10 on operations, test half | as it is | told twice | told twice, merged |\n|---|---|---|---|")
    found: dict[str, list[float]] = {}
    for one in sets[: at_most(len(sets), 1)]:
        for twice, merged in ((False, False), (True, False), (True, True)):
            name = f"{one['name']} {twice} {merged}"
            with opened(folder, name.replace(" ", "-")) as memory:
                found.setdefault(f"{twice} {merged}", []).extend(_recalled(memory, one, twice, merged))
    shares = " | ".join(f"{np.mean(one):.3f}" for one in found.values())
    print(f"| {len(found['False False'])} questions | {shares} |")


def _recalled(memory: AgentMemory, one: dict[str, list[dict[str, str]]], twice: bool, merged: bool) -> Iterable[float]:
    items = one["corpus"]
    told = [{"id": item["id"], "text": item["text"], "valid_from": _moment(item)} for item in items]
    if twice:
        told += [
            {**item, "id": f"{item['id']}+", "text": AGAIN[at % 3].format(item["text"])} for at, item in enumerate(told)
        ]
    memory.records.add_many([{name: value for name, value in item.items() if value} for item in told])
    memory.upkeep.catch_up()
    stands = {item["id"]: item["id"].rstrip("+") for item in told if item["id"]}
    if merged:
        memory.upkeep.consolidate()
        into = _merged_into(memory)
        stands |= {into[id]: original for id, original in [*stands.items()] if id in into}
    evidence: dict[str, dict[str, int]] = one["qrels"]  # type: ignore[assignment]
    for query in one["queries"][: at_most(10**6, 5)]:
        wanted = evidence.get(query["id"])
        if wanted:
            hits = memory.recall(query["text"], k=10)
            yield len({stands.get(hit.id, hit.id) for hit in hits} & {*wanted}) / min(10, len(wanted))


def _moment(item: dict[str, str]) -> str | None:
    return f"{item['timestamp']}Z" if item.get("timestamp") else None


class Table:
    """The same vector for what agrees, a little moved by each spelling."""

    space = Space("table", "1", 384)

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        made = np.stack([_drawn(repr(form(text, NOW))) + 0.4 * _drawn(text) for text in texts])
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


def _drawn(text: str) -> NDArray[np.float64]:
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
    one = np.random.default_rng(seed).standard_normal(384)
    return one / np.linalg.norm(one)


def texts(count: int) -> list[str]:
    chance, made = random.Random(1), list[str]()
    things = "server database printer queue cluster gateway sensor cache".split()
    does = "listens on port|needs memory of|was restarted after minute|holds items up to|belongs to team".split("|")
    while len(made) < count:
        if made and chance.random() < 0.3:
            made.append(chance.choice(AGAIN).format(chance.choice(made[-5000:])))
        else:
            made.append(
                f"The {chance.choice(things)} {chance.randrange(count)} {chance.choice(does)} {chance.randrange(9000)}"
            )
    return made


def speed(folder: str, sizes: Sequence[int]) -> None:
    print(
        "\n| memories | merged | into | first pass: wall s | CPU s | peak MB more | second pass: wall s "
        "| of a sample's pairs |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for size in sizes:
        said = texts(size)
        with opened(folder, f"speed-{size}", embedder=Table()) as memory:
            for at in range(0, size, 1000):
                some = enumerate(said[at : at + 1000], at)
                memory.records.add_many([{"id": f"n{number}", "text": text} for number, text in some], embed=True)
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            wall, cpu = time.perf_counter(), time.process_time()
            done = memory.upkeep.consolidate()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
            again = time.perf_counter()
            assert memory.upkeep.consolidate().merged == 0
            again = time.perf_counter() - again
            share = _share(memory, said[: at_most(2000, 300)])
        print(
            f"| {size} | {done.merged} | {done.into} | {wall:.1f} | {cpu:.1f} | {peak} | {again:.1f} | {share} |",
            flush=True,
        )


def _merged_into(memory: AgentMemory) -> dict[str, str]:
    """Where each of the originals stands now."""
    into = dict[str, str]()
    for status in ("active", "archived"):
        after = 0
        while page := memory.records.versions(status=status, limit=500, after_seq=after):
            after = page[-1].seq
            into |= {link.target_id: one.id for one in page for link in one.links if link.type == "DERIVED_FROM"}
    return into


def _share(memory: AgentMemory, said: Sequence[str]) -> str:
    """Of all pairs of a sample that agree and are similar enough, those that stand in one record now."""
    into = _merged_into(memory)

    def stands(id: str) -> str:
        return stands(into[id]) if id in into else id

    rows, forms = Table().embed_many(said), [form(text, NOW) for text in said]
    near = np.argwhere(np.triu(rows @ rows.T, 1) > ALIKE)
    wanted = [(int(a), int(b)) for a, b in near if forms[a] == forms[b]]
    found = sum(stands(f"n{one}") == stands(f"n{other}") for one, other in wanted)
    return f"{found} of {len(wanted)}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 10_000, 100_000])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stream(folder)
        recall(folder)
        speed(folder, [at_most(size, 300) for size in asked.sizes][: 1 if SMALL else None])


if __name__ == "__main__":
    sys.exit(main())
