"""How much a relevance and the ranker's odds count together: the three numbers of `core/recall/rerank.py`.

    .venv/bin/python scripts/train/odds.py    # learned on our dev half and on operations 1-6: some minutes

A logistic regression over the first twenty of each question. Evidence counts 1 a question, what is no evidence one
half; of a question that nothing answers, the first five count the other half.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "benchmarks"), str(ROOT / "benchmarks" / "operations")]

from corpus import Prepared, evaluated, ours  # noqa: E402

from agent_memory.core.recall.rerank import SMALLEST  # noqa: E402
from agent_memory.models.recipe import BEST, DEFAULT  # noqa: E402
from retrieval import Adapter  # noqa: E402

READ, FIRST = 20, 5
Row = tuple[float, float, float, float]  # logit of the relevance, odds, evidence or not, how much it counts


def rows(one: Prepared) -> list[Row]:
    adapter = Adapter()
    adapter.reset()
    adapter.add(one.items)
    found: list[Row] = []
    for question in one.questions:
        gold = set(question["gold"])
        if question.get("apart") and gold:
            continue
        adapter.recipe = DEFAULT
        fits = {hit.id: hit.relevance for hit in adapter.recall(question["text"], READ, question["now"]).hits}
        adapter.recipe = BEST.model_copy(update={"rerank_seconds": 60})
        told = adapter.recall(question["text"], READ, question["now"]).reranked
        several = [(fits[id], odds, id in gold) for id, odds in (told.scores if told else {}).items() if id in fits]
        if not gold:
            several = sorted(several, reverse=True)[:FIRST]
        right = sum(one for *_, one in several)
        wrong = len(several) - right
        for fit, odds, evidence in several:
            before = min(max(fit, SMALLEST), 1 - SMALLEST)
            counts = 1 / right if evidence else 0.5 / wrong
            found.append((float(np.log(before / (1 - before))), odds, float(evidence), counts))
    adapter.close()
    return found


def fitted(given: np.ndarray) -> np.ndarray:
    """Weights of relevance, odds and one, by Newton's method."""
    features, right, counts = np.column_stack([given[:, :2], np.ones(len(given))]), given[:, 2], given[:, 3]
    weights = np.zeros(3)
    for _ in range(25):
        chance = 1 / (1 + np.exp(-features @ weights))
        slope = features.T @ (counts * (right - chance))
        curve = (features * (counts * chance * (1 - chance))[:, None]).T @ features + 1e-6 * np.eye(3)
        weights += np.linalg.solve(curve, slope)
    return weights


def main() -> None:
    dev = [one for one in ours(ROOT / "models" / "data") if one.part == "dev"]
    dev += evaluated([ROOT / "benchmarks" / "operations" / "operations.jsonl"], None)[:6]
    with ProcessPoolExecutor(2) as pool:
        found = [row for several in pool.map(rows, dev) for row in several]
    kept, odds, offset = (round(float(one), 2) for one in fitted(np.array(found)))
    print(json.dumps({"KEPT": kept, "ODDS": odds, "OFFSET": offset, "rows": len(found)}))


if __name__ == "__main__":
    main()
