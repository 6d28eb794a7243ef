"""What does a floor under `relevance` hide: of right first answers, how many are below it?

    .venv/bin/python benchmarks/floor.py [--locomo N]      # all of LoCoMo, or the first N conversations of each half

Where even the best hits of a recall are below the floor, people and models are told that nothing fits well
(`POOR` in models/answer.py). A first answer is right when the first hit is evidence for the question. Beside it: how
often a question that nothing in this memory answers ("elsewhere": those of the next collection) has only hits below it.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from ablation import sets
from agent_memory.models.answer import POOR
from retrieval import Adapter, _moment

FLOORS = (0.1, 0.2, 0.25, 0.3, 0.35, 0.4)
SHOWN = 10


def measured(collections: list[Any]) -> tuple[list[float], list[float]]:
    """Relevance of the right first answers, and the best among the hits of questions from elsewhere."""
    right, elsewhere = [], []
    for number, collection in enumerate(collections):
        adapter = Adapter()
        adapter.reset()
        adapter.add(collection.items)
        following = collections[(number + 1) % len(collections)]
        for query in [one for one in collection.queries if one.gold and not one.apart]:
            first = asked(adapter, query)[0]
            if first.id in query.gold:
                right.append(first.relevance)
        foreign = [one for one in following.queries if one.gold and not one.apart and following is not collection]
        elsewhere += [max(hit.relevance for hit in asked(adapter, query)) for query in foreign]
    return right, elsewhere


def asked(adapter: Adapter, query: Any) -> Any:
    adapter._clock.at = _moment(query.now) if query.now else adapter._clock.at
    assert adapter._memory
    return adapter._memory.recall(query.text, SHOWN).hits


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--locomo", type=int, help="so many conversations of each half")
    most = {"LoCoMo": parser.parse_args().locomo}
    found = {name: [one for half in halves for one in half[: most.get(name)]] for name, halves in sets().items()}
    results = {name: measured(collections) for name, collections in found.items()}
    heads = [
        f"{name}: right first answers ({len(one)}) | elsewhere ({len(two)})" for name, (one, two) in results.items()
    ]
    print(f"| below | {' | '.join(heads)} |\n|---|{'---|' * 2 * len(heads)}")
    for floor in sorted({*FLOORS, POOR}):
        cells = [f"{100 * (np.array(group) < floor).mean():.1f} %" for pair in results.values() for group in pair]
        print(f"| {f'**{floor}**' if floor == POOR else floor} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
