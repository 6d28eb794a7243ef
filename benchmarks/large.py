"""What is lost where a reader is too large for memory, and the database looks for candidates:

    .venv/bin/python benchmarks/large.py [--test] [--each 1]      # dev halves, or the test halves; every n-th question

Both evaluations on PostgreSQL, asked twice: searched in memory, and with `AGENT_MEMORY_SHELF_LINES=0`, so that
everything is looked up. A row is recall@5, @10 and @20, and by how much the mean of the three differs from that in
memory, question by question, with a 95 % interval. `apart`: each collection has a reader of its own, as elsewhere;
`together`: all of an evaluation are one reader's, so that few of the texts are candidates. Then the milliseconds of a
recall (CPU of the client). EVAL is found as in ablation.py.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import agent_memory

sys.path.insert(0, str(Path(agent_memory.__file__).resolve().parents[2]))  # where the tests start their servers

from tests.parts.postgres import Server

from ablation import cells, recalls, sets
from agent_memory import AgentMemory
from retrieval import Adapter

LINES = {"in memory": 10_000_000, "looked up": 0}


class Reader(Adapter):
    """One reader of a store in PostgreSQL."""

    def __init__(self, store: str, user: str) -> None:
        super().__init__()
        self._store, self._user = store, user

    def opened(self, lines: int) -> None:
        self.close()
        os.environ["AGENT_MEMORY_SHELF_LINES"] = str(lines)
        self._memory = AgentMemory(self._user, store=self._store, clock=self._clock)

    def prepare(self) -> None:
        assert self._memory
        self._memory.upkeep.run_jobs()

    def close(self) -> None:
        if self._memory:
            self._memory.close()
            self._memory = None


def readers(collections: list[Any], together: bool) -> Iterator[tuple[list[dict[str, Any]], list[Any]]]:
    """Texts and questions of each reader; put together, ids and sessions of each collection stay apart."""
    texts: list[dict[str, Any]] = []
    questions: list[Any] = []
    for place, one in enumerate(collections):
        items = [_of(place, item) for item in one.items]
        asked = [(query, {f"{place}/{id}": 1.0 for id in query.gold}) for query in one.queries]
        asked = [(query, gold) for query, gold in asked if gold and not query.apart]
        if not together:
            yield items, asked
        texts += items
        questions += asked
    if together:
        yield texts, questions


def _of(place: int, item: dict[str, Any]) -> dict[str, Any]:
    session = None if item["session_id"] is None else f"{place}/{item['session_id']}"
    return {**item, "id": f"{place}/{item['id']}", "session_id": session}


def run(server: Server, collections: list[Any], together: bool, each: int) -> dict[str, Any]:
    store = server.fresh()
    rows: dict[str, list[list[float]]] = {name: [] for name in LINES}
    spent = dict.fromkeys(LINES, 0.0)
    made = [(Reader(store, f"reader{place}"), *one) for place, one in enumerate(readers(collections, together))]
    for reader, items, _ in made:
        reader.opened(LINES["in memory"])
        reader.add(items)
    made[0][0].opened(LINES["looked up"])
    made[0][0].prepare()
    for reader, _, asked in made:
        for name, lines in LINES.items():
            reader.opened(lines)
            reader.recall("Where is it?", 1, None)
            started = time.process_time()
            for query, gold in asked[::each]:
                found = reader.recall(query.text, 20, query.now)
                assert found.approximate == (name == "looked up")
                rows[name].append(recalls([hit.id for hit in found], gold))
            spent[name] += time.process_time() - started
        reader.close()
    return {"rows": rows, "spent": spent, "questions": len(rows["in memory"])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--test", action="store_true", help="the test halves")
    parser.add_argument("--each", type=int, default=1, help="ask every n-th question")
    options = parser.parse_args()
    server = Server(18)
    print("| | questions | | @5 | @10 | @20 | to in memory | ms |\n|---|---|---|---|---|---|---|---|", flush=True)
    try:
        for name, halves in sets().items():
            for together in (False, True):
                found = run(server, halves[options.test], together, options.each)
                rows, count = found["rows"], found["questions"]
                for way in LINES:
                    told = cells(rows[way], rows["in memory"])
                    milliseconds = f"{1000 * found['spent'][way] / count:.1f}"
                    of = f"{name}, {'together' if together else 'apart'}"
                    print("| " + " | ".join([of, str(count), way, *told, milliseconds]) + " |", flush=True)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
