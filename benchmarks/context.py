"""How much of the evidence a context holds, by its budget of tokens.

    .venv/bin/python benchmarks/context.py [--test]      # dev halves, or the test halves

One `assemble_context` per question and budget, over the public API; tokens by the estimate. EVAL is found by
AGENT_MEMORY_EVAL (default ../shared/benchmarks).
"""

from __future__ import annotations

import statistics
import sys
from typing import Any

from ablation import sets
from retrieval import Adapter, _moment

BUDGETS = (250, 500, 1000, 2000, 4000)
WAYS: dict[str, dict[str, Any]] = {
    "as it comes: ids, three turns of a conversation": {},
    "without ids": {"ids": False},
    "all turns of a conversation": {"per_conversation": 0},
    "all turns, without ids": {"per_conversation": 0, "ids": False},
}


def run(collections: list[Any]) -> dict[tuple[str, int], tuple[float, float, float]]:
    """(way, budget) -> share of the evidence, tokens used, milliseconds (median)."""
    found: dict[tuple[str, int], list[tuple[float, int, float]]] = {}
    for collection in collections:
        adapter = Adapter()
        adapter.reset()
        adapter.add(collection.items)
        for query in collection.queries:
            if not query.gold or query.apart:
                continue
            for way, bounds in WAYS.items():
                for budget in BUDGETS:
                    if query.now:
                        adapter._clock.at = _moment(query.now)
                    context = adapter._memory.assemble_context(query.text, budget, **bounds)
                    assert context.total_tokens <= budget
                    ids = {chunk.id for chunk in context.chunks}
                    share = sum(id in ids for id in query.gold) / len(query.gold)
                    found.setdefault((way, budget), []).append((share, context.total_tokens, context.milliseconds))
    return {
        which: (
            statistics.mean(one[0] for one in rows),
            statistics.mean(one[1] for one in rows),
            statistics.median(one[2] for one in rows),
        )
        for which, rows in found.items()
    }


def main() -> None:
    for name, (dev, test) in sets().items():
        table = run(test if "--test" in sys.argv else dev)
        print(f"\n| {name}: evidence in the context | " + " | ".join(f"{budget} tokens" for budget in BUDGETS) + " |")
        print("|---" * (len(BUDGETS) + 1) + "|")
        for way in WAYS:
            cells = [f"{100 * table[way, budget][0]:.1f} ({table[way, budget][1]:.0f} used)" for budget in BUDGETS]
            print(f"| {way} | " + " | ".join(cells) + " |")
        times = [f"{table[next(iter(WAYS)), budget][2]:.1f}" for budget in BUDGETS]
        print("| milliseconds, median | " + " | ".join(times) + " |")


if __name__ == "__main__":
    main()
