"""What each ingredient of the default recipe gives: both evaluations, with it and without.

    .venv/bin/python benchmarks/ablation.py [--test]      # dev halves, or the test halves

Stores are built once; a row is a recipe: recall@5, @10 and @20, and by how much the mean of the three is below the
default's, question by question, with a 95 % interval (1,000 draws of the questions). EVAL is found by
AGENT_MEMORY_EVAL (default ../shared/benchmarks).
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from agent_memory.models.recipe import Recipe
from retrieval import Adapter
from small import SMALL

HERE = Path(__file__).resolve().parent
EVAL = Path(os.environ.get("AGENT_MEMORY_EVAL", HERE.parent.parent / "shared" / "benchmarks"))
WITHOUT: dict[str, dict[str, Any]] = {
    "default": {},
    "every query read as a question": {"reads": "question"},
    "no windows for words": {"near_words": ()},
    "no windows for vectors": {"near_vectors": ()},
    "no speaker": {"speaker": 0.0},
    "all named speakers alike": {"also_named": 1.0},
    "no date": {"date": 0.0},
    "nothing beside a date": {"slack_days": 0.0},
    "no conversation": {"conversation": 0.0},
    "no answer type": {"answer": 0.0},
    "questions not lowered": {"question": 0.0},
    "no recency": {"recency": 0.0},
    "words alone": {"vectors": 0.0},
    "vectors alone": {"words": 0.0},
    "long neighbours count fully": {"long_turn": 1_000_000},
    "with repeats collapsed": {"collapse": True},
    "with diversity 0.3": {"diversity": 0.3},
}


def shared() -> ModuleType:
    spec = importlib.util.spec_from_file_location("retrieval_eval", EVAL / "retrieval_eval.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["retrieval_eval"] = module
    spec.loader.exec_module(module)
    return module


def sets() -> dict[str, tuple[list[Any], list[Any]]]:
    """Both evaluations: the collections of the dev half, and those of the test half."""
    evaluation = shared()
    locomo = evaluation.load_locomo(json.loads((EVAL / "locomo" / "locomo10.json").read_text("utf-8")))
    with (HERE / "operations" / "operations.jsonl").open(encoding="utf-8") as lines:
        operations = evaluation.load_collections(lines)
    halves = {"LoCoMo": (locomo[:5], locomo[5:]), "operations": (operations[:6], operations[6:])}
    return {name: (few(dev), few(test)) for name, (dev, test) in halves.items()}


def few(collections: list[Any]) -> list[Any]:
    """All of them; in a small run two, with a few questions of each sort, their evidence, and some more texts."""
    if not SMALL:
        return collections
    cut = []
    for one in collections[:2]:
        queries = [query for query in one.queries if query.gold and not query.apart][:3]
        queries += [query for query in one.queries if query.apart][:3]
        gold = {id for query in queries for id in query.gold}
        items = [item for place, item in enumerate(one.items) if place < 20 or item["id"] in gold]
        cut.append(replace(one, items=items, queries=queries))
    return cut


def recalls(found: list[str], gold: dict[str, float]) -> list[float]:
    return [sum(id in found[:k] for id in gold) / len(gold) for k in (5, 10, 20)]


def run(collections: list[Any]) -> dict[str, list[list[float]]]:
    rows: dict[str, list[list[float]]] = {name: [] for name in WITHOUT}
    for collection in collections:
        adapter = Adapter()
        adapter.reset()
        adapter.add(collection.items)
        for name, changed in WITHOUT.items():
            adapter.recipe = Recipe(**changed)
            for query in collection.queries:
                if query.gold and not query.apart:
                    rows[name].append(recalls(adapter.search(query.text, 20, query.now), query.gold))
    return rows


def cells(found: list[list[float]], default: list[list[float]]) -> list[str]:
    """The means, and the paired difference with its interval."""
    means = [f"{100 * sum(column) / len(found):.1f}" for column in zip(*found, strict=True)]
    apart = [100 * (sum(one) - sum(other)) / 3 for one, other in zip(found, default, strict=True)]
    draw = random.Random(1)  # the same draws for every row
    drawn = sorted(sum(draw.choices(apart, k=len(apart))) / len(apart) for _ in range(1000))
    return [*means, f"{sum(apart) / len(apart):+.1f} ({drawn[25]:+.1f} to {drawn[974]:+.1f})"]


def main() -> None:
    tables = [run(test if "--test" in sys.argv else dev) for dev, test in sets().values()]
    print("| recipe | LoCoMo @5 | @10 | @20 | to the default | operations @5 | @10 | @20 | to the default |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in WITHOUT:
        row = [cell for table in tables for cell in cells(table[name], table["default"])]
        print(f"| {' | '.join([name, *row])} |")


if __name__ == "__main__":
    main()
