"""What compressing cold texts is worth: `python benchmarks/compression.py --locomo EVAL/locomo/locomo10.json`.

Every turn of LoCoMo in one store, before and after the job `compress` with each codec: bytes per memory (the file,
after a `vacuum`, without vectors, which are the same), the ratio of the texts alone, and what reading costs more. The
last line says what zstd reaches with a dictionary trained on half of LoCoMo, on the other half: more than that nobody
gets, text by text. Such a dictionary is made here, measured, and thrown away.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from agent_memory import AgentMemory
from agent_memory.core.upkeep.compress import CODECS
from agent_memory.ledger import codecs
from small import at_most

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own
INVENTED = [f"We moved the weekly meeting about project {number} to the afternoon." for number in range(100)]


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--locomo", type=Path, help="locomo10.json; without it some invented sentences")
    asked.add_argument("--turns", type=int, default=6000)
    given = asked.parse_args()
    texts = turns(given.locomo)[: at_most(given.turns, 60)]
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first.db"
        with AgentMemory("ada", store=first) as memory:
            for start in range(0, len(texts), 1000):
                memory.records.add_many([{"text": text} for text in texts[start : start + 1000]])
        print(f"{len(texts)} turns, {statistics.mean(len(text.encode()) for text in texts):.0f} bytes each")
        print(f"{'':8}{'bytes/memory':>14}{'text ratio':>12}{'µs to read':>12}")
        for how in ("off", "zstd", "lz4"):
            print(f"{how:8}{measured(first, Path(folder) / f'{how}.db', how, len(texts))}")
    print(f"with a dictionary of half of the same, on the other half: {ceiling(texts):.2f} : 1")


def turns(path: Path | None) -> list[str]:
    if path is None:
        return INVENTED
    talks = [one["conversation"] for one in json.loads(path.read_text("utf-8"))]
    sessions = [said for talk in talks for name, said in talk.items() if re.fullmatch(r"session_\d+", name)]
    return [turn["text"] for said in sessions for turn in said]


def measured(first: Path, copy: Path, how: str, count: int) -> str:
    shutil.copy(first, copy)
    os.environ |= {"AGENT_MEMORY_COMPRESS": how, "AGENT_MEMORY_COMPRESS_DAYS": "0"}
    with AgentMemory("ada", store=copy) as memory:
        store, after = memory._client.runtime.store, 0
        while how != "off" and (made := store.recode(CODECS[how], after=after)).last is not None:
            after = made.last
        ratio = memory.upkeep.stats()["compression"]["text_ratio"]
        ids = [one.id for one in memory.records.find(limit=at_most(500, 20))]
        times = [timed(memory, ids) for _ in range(9)]
    file = sqlite3.connect(copy)
    file.execute("vacuum")
    size = file.execute("select page_count * page_size from pragma_page_count, pragma_page_size").fetchone()[0]
    file.close()
    return f"{size / count:14.0f}{ratio:12.2f}{statistics.median(times):12.1f}"


def timed(memory: AgentMemory, ids: list[str]) -> float:
    """Microseconds for each of these records, read together."""
    view, records = memory._client.view(), memory._client.runtime.store.records
    begun = time.perf_counter()
    records.get(view, ids)
    return (time.perf_counter() - begun) / len(ids) * 1e6


def ceiling(texts: list[str]) -> float:
    half = [text.encode() for text in texts[: len(texts) // 2]]
    trained: Any = zstd.train_dict(half, max(1024, min(112 * 1024, sum(map(len, half)) // 3)))
    own = codecs.ZstdTexts()
    own._dictionary = trained
    rest = [text.encode() for text in texts[len(texts) // 2 :]]
    return sum(map(len, rest)) / sum(min(len(text), len(own.encode(text))) for text in rest)


if __name__ == "__main__":
    main()
