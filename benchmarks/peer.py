"""One system, one phase, in a process of its own: the shared harness's `run.py` with our adapter beside its own.

    python benchmarks/peer.py ADAPTER N --child load|cold|delete|writer|count --store FOLDER [--model cached|real]

The harness is found by AGENT_MEMORY_HARNESS (default: ../shared/benchmarks/performance beside the repository). Four
things are changed, for every system alike: the file is measured before the searches too; the 200 searches are repeated
once warm (the harness's own figure includes loading each of 20 users' rows once in 200 searches); CPU times of first
search and searches are kept apart in a cold start; and the reference's model runs on one thread, as ours does.
"""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
HARNESS = Path(
    os.environ.get("AGENT_MEMORY_HARNESS") or REPOSITORY.parent / "shared" / "benchmarks" / "performance"
).resolve()
PROTOTYPES = HARNESS.parent.parent / "parts" / "proto"
OUT = Path(os.environ.get("AGENT_MEMORY_BENCH_OUT") or REPOSITORY / "benchmarks" / "out")
os.environ.setdefault("PERF_DATA", str(OUT / "data"))
os.environ.setdefault("PERF_ONNX", str(OUT / "minilm.onnx"))
os.environ.setdefault("PERF_VOCAB", str(OUT / "vocab.txt"))


def harness(name: str) -> Any:
    """A module of the harness, under a name that cannot meet one of ours."""
    spec = importlib.util.spec_from_file_location(f"harness_{name}", HARNESS / f"{name}.py")
    if spec is None or spec.loader is None or not (HARNESS / f"{name}.py").is_file():
        raise SystemExit(f"no harness in {HARNESS}: set AGENT_MEMORY_HARNESS to its folder")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


run = harness("run")  # puts the harness's folder on the path, so that its own imports work
run.__file__ = __file__  # its child processes start here too
import adapters  # noqa: E402
import embed  # noqa: E402

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

sys.path.append(str(PROTOTYPES))  # the reference's tokenizer


class Known:
    """The harness's table of vectors as an `Embedder` of the space that our local model has."""

    def __init__(self, table: Any) -> None:
        from agent_memory.engines.onnx.embedder import SPACE
        from agent_memory.ports.embedder import Passage

        self.space, self._table, self._passage = SPACE, table, Passage

    def passages(self, text: str) -> list[Any]:
        return [self._passage(0, len(text))]

    def embed_many(self, texts: Any) -> Any:
        return self._table.np(texts)


class AgentMemory(adapters.Adapter):
    note = "ours, public API only: one AgentMemory per user on one file"
    batch = 10_000  # 500 of each user, and a transaction is one user's: as many rows as the references write at once

    def open(self, path: str, emb: Any) -> None:
        super().open(path, emb)
        from agent_memory import AgentMemory

        self._make, self._memories = AgentMemory, {}
        self._embedder = None if isinstance(emb, Ours) else Known(emb)

    def memory(self, user: str) -> Any:
        found = self._memories.get(user)
        if found is None:
            store = f"sqlite:///{self.path / 'memory.db'}"
            found = self._memories[user] = self._make(user, store=store, embedder=self._embedder)
        return found

    def add(self, user: str, text: str) -> None:
        self.memory(user).records.add(text)

    def add_many(self, items: list[tuple[str, str]]) -> None:
        users: dict[str, list[dict[str, str]]] = {}
        for user, text in items:
            users.setdefault(user, []).append({"text": text})
        for user, records in users.items():
            self.memory(user).records.add_many(records, embed=True)

    def search(self, user: str, query: str, k: int) -> list[str]:
        return [hit.record.text for hit in self.memory(user).recall(query, k=k)]

    def delete_user(self, user: str) -> None:
        records = self.memory(user).records
        while found := records.find(limit=10_000):
            records.forget([record.id for record in found])

    def count(self) -> int:
        return sum(self.memory(run.user(i)).upkeep.stats()["records"] for i in range(run.USERS))

    def close(self) -> None:
        for memory in self._memories.values():
            memory.close()


class Ours:
    """Stands for the harness's model where we use our own: nothing is loaded before it is needed."""


class OneThread(embed.OnnxEmbedder):  # type: ignore[misc]
    def __init__(self) -> None:
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        super().__init__(threads=1)


adapters.ADAPTERS["agent_memory"] = AgentMemory
searches = run.do_search


def on_disk(folder: Path) -> int:
    """Bytes of the database, with everything that is in its log moved there: before recalls write their receipts."""
    files = list(folder.glob("*.db"))
    for file in files:
        database = sqlite3.connect(file)
        database.execute("pragma wal_checkpoint(passive)")
        database.close()
    return sum(file.stat().st_blocks * 512 for file in files)


def search_twice(adapter: Any, budget: float, res: dict[str, Any], nq: int = 200) -> None:
    res["disk_before_searches"] = on_disk(adapter.path)
    res["cpu_before_searches_s"] = round(time.process_time(), 4)
    searches(adapter, budget, res, nq)
    again: dict[str, Any] = {}
    searches(adapter, budget, again, nq)
    res["warm"], res["warm_cpu_ms"] = again["search"], again["search_cpu_ms"]


def main() -> None:
    run.do_search = search_twice
    embed.OnnxEmbedder = Ours if sys.argv[1] == "agent_memory" else OneThread
    run.main()


if __name__ == "__main__":
    main()
