"""Prose as queries: alerts and tickets that need a runbook, claims that an abstract supports or refutes.

    python benchmarks/prose/run.py                 # the test half
    python benchmarks/prose/run.py --half dev      # the half that the rules and weights were chosen on
    python benchmarks/prose/run.py --grid          # what each of them gives, on the dev half

The texts (`sources/`, in the format of `../operations/build.py`) are invented and written for this project; dates,
hosts and question marks stand in them as they stand in such texts. They are searched alone and with those of
`../operations` beside them, which hold chats. Beside the default recipe stand the same with every query read as a
question, and what needs no memory at all: BM25, one vector a text, and the sum of these two, each brought to 0..1
between the worst and the best text. These see the same texts, words and vectors.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[1] / "operations"))
from build import read

from agent_memory.core.write.words import word_hash, words
from agent_memory.engines.onnx.embedder import OnnxEmbedder
from agent_memory.models.recipe import Recipe
from retrieval import Adapter
from small import SMALL, at_most

HERE = Path(__file__).parent
SURROUNDINGS = ("alone", "operations")[: at_most(2, 1)]
K1, B = 1.2, 0.75
DEPTH = 50
SILENT = dict.fromkeys(("speaker", "date", "answer", "question", "recency"), 0.0)
GRID: dict[str, dict[str, Any]] = {
    "read as questions": {"reads": "question"},
    **{f"so, without {name}": {"reads": "question", name: 0.0} for name in SILENT},
    "so, without these": {"reads": "question", **SILENT},
    "default": {},
    **{f"words {times} times": {"prose_words": times} for times in (1.0, 1.25, 2.0)},
    "no windows": {"near_words": (), "near_vectors": ()},
    "no conversation": {"conversation": 0.0},
}

Search = Callable[[str, str], list[str]]


class Plain:
    """BM25 and one vector for each text, and nothing else."""

    def __init__(self, items: list[dict[str, Any]]) -> None:
        self._ids = [item["id"] for item in items]
        self._counts = [Counter(_terms(item["text"])) for item in items]
        self._embedder = OnnxEmbedder()
        self._vectors = self._embedder.embed_many([item["text"] for item in items])
        lengths = np.array([counts.total() for counts in self._counts])
        self._norm = K1 * (1 - B + B * lengths / lengths.mean())

    def search(self, vectors: float) -> Search:
        """By what share of `vectors`; the rest is BM25."""

        def found(query: str, now: str) -> list[str]:
            near = self._vectors @ self._embedder.embed_many([query])[0]
            scores = vectors * _stretched(near) + (1 - vectors) * _stretched(self._words(query))
            return [self._ids[row] for row in np.argsort(-scores, kind="stable")[:DEPTH]]

        return found

    def _words(self, query: str) -> np.ndarray:
        scores, many = np.zeros(len(self._ids)), len(self._ids)
        for term in {*_terms(query)}:
            times = np.array([counts[term] for counts in self._counts])
            having = np.count_nonzero(times)
            scores += math.log1p((many - having + 0.5) / (having + 0.5)) * times * (K1 + 1) / (times + self._norm)
        return scores


def _terms(text: str) -> list[bytes]:
    return [hashed for word in words(text) if (hashed := word_hash(word))]


def _stretched(values: np.ndarray) -> np.ndarray:
    return (values - values.min()) / max(float(np.ptp(values)), 1e-9)


def halves(which: str) -> list[dict[str, Any]]:
    found = [read(HERE / "sources" / f"{name}.txt").half(which) for name in ("alerts", "claims")]
    for one in found:
        if SMALL:
            one["queries"] = one["queries"][::8]
            gold = {id for query in one["queries"] for id in one["qrels"][query["id"]]}
            one["corpus"] = [item for place, item in enumerate(one["corpus"]) if place % 4 == 0 or item["id"] in gold]
    return found


def operations() -> list[dict[str, Any]]:
    with (HERE.parent / "operations" / "operations.jsonl").open(encoding="utf-8") as lines:
        known = {item["id"]: item for line in lines for item in json.loads(line)["corpus"]}
    return [*known.values()]


def ours(adapter: Adapter, recipe: dict[str, Any]) -> Search:
    def found(query: str, now: str) -> list[str]:
        adapter.recipe = Recipe(**recipe)
        return adapter.search(query, DEPTH, now)

    return found


def measured(search: Search, half: dict[str, Any]) -> np.ndarray:
    """A row for each query: recall@5, recall@10, reciprocal rank, nDCG@10."""
    rows = []
    for query in half["queries"]:
        gold = half["qrels"][query["id"]]
        right = [id in gold for id in search(query["text"], query["now"])]
        best = sum(1 / math.log2(place + 2) for place in range(min(10, len(gold))))
        gained = sum(one / math.log2(place + 2) for place, one in enumerate(right[:10]))
        first = next((1 / place for place, one in enumerate(right, 1) if one), 0.0)
        rows.append((sum(right[:5]) / len(gold), sum(right[:10]) / len(gold), first, gained / best))
    return np.array(rows)


def report(which: str, recipes: dict[str, dict[str, Any]]) -> None:
    found = halves(which)
    for surroundings in SURROUNDINGS:
        items = [item for half in found for item in half["corpus"]]
        items += operations() if surroundings == "operations" else []
        adapter, plain = Adapter(), Plain(items)
        adapter.reset()
        adapter.add(items)
        ways = {"BM25": plain.search(0.0), "one vector": plain.search(1.0), "their sum": plain.search(0.5)}
        ways |= {name: ours(adapter, recipe) for name, recipe in recipes.items()}
        many = [len(half["queries"]) for half in found]
        print(f"\n{which}, {surroundings}: {len(items)} texts; recall@5, recall@10, MRR, nDCG@10 in per cent")
        print(f"| | alerts ({many[0]}) | claims ({many[1]}) | all |\n|---|---|---|---|")
        for name, search in ways.items():
            tables = [measured(search, half) for half in found]
            cells = [_shares(table) for table in (*tables, np.vstack(tables))]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)
        adapter.close()


def _shares(table: np.ndarray) -> str:
    return " / ".join(f"{100 * share:.1f}" for share in table.mean(axis=0))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--half", choices=("dev", "test"), default="test")
    parser.add_argument("--grid", action="store_true")
    options = parser.parse_args()
    if options.grid:
        report("dev", GRID)
    else:
        report(options.half, {"read as questions": {"reads": "question"}, "default": {}})
