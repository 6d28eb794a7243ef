"""Whether two versions of the code answer alike: `python benchmarks/same.py BEFORE.json AFTER.json`.

A file that is not there is made by the code that is imported (another version by `PYTHONPATH=…/src`): ids, order,
scores and relevance of every answer. Where both are there, they are compared: ids and order must be equal, numbers may
be apart by 1e-6. On a store of 100,000 turns and on one of as many observations (see scale.py) there are 604
answers each: to 200 questions with the default recipe, to 33 in each of twelve other ways, to 8 with a trace; and then
the first twenty hits of every question of LoCoMo and of operations (see ablation.py).
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import ablation
import peer
import prepare
import scale
from agent_memory import AgentMemory
from agent_memory.models.answer import Recalled
from agent_memory.models.recipe import Recipe
from retrieval import Adapter
from small import at_most

CLOSE = 1e-6
NOW = "2026-11-16T00:00:00"  # for questions that name no moment
AMONG = datetime(2023, 6, 1, tzinfo=scale.UTC)
WAYS: dict[str, dict[str, Any]] = {
    **{name: {"recipe": name} for name in ("meaning", "decay", "bundle", "context")},
    "words": {"recipe": Recipe(vectors=0.0)},
    "vectors": {"recipe": Recipe(words=0.0)},
    "diverse": {"recipe": Recipe(diversity=0.3, collapse=True)},
    "few": {"recipe": Recipe(pool=50), "k": 30},
    "floor": {"min_relevance": 0.4},
    "after": {"after": AMONG},
    "before": {"before": AMONG},
    "kinds": {"kinds": ["turn", "observation"]},
}

Answers = dict[str, list[list[Any]]]


def told(recalled: Recalled) -> list[list[Any]]:
    return [[hit.id, hit.score, hit.relevance] for hit in recalled.hits]


def large(alone: bool) -> Iterator[tuple[str, list[list[Any]]]]:
    """One user with very many memories."""
    prepare.ready()
    questions, what = peer.run.queries()[: at_most(200, 3)], "alone" if alone else "turns"
    embedder = scale.Repeated(peer.embed.CachedEmbedder(prepare.TEXTS))
    with tempfile.TemporaryDirectory(prefix="same-", dir=peer.OUT) as folder:
        store = f"sqlite:///{folder}/memory.db"
        with AgentMemory("one", store=store, embedder=embedder, clock=scale.Standing()) as memory:
            scale.fill(memory, at_most(100_000, 60), alone)
            for question in questions:
                yield f"{what}: {question}", told(memory.recall(question))
            for way, given in WAYS.items():
                for question in questions[:33]:
                    yield f"{what}, {way}: {question}", told(memory.recall(question, **given))
            for question in questions[:8]:
                yield f"{what}, traced: {question}", told(memory.recall(question, trace=True))


def evaluated() -> Iterator[tuple[str, list[list[Any]]]]:
    """Both evaluations, question by question."""
    for name, halves in ablation.sets().items():
        for collection in (one for half in halves for one in half):
            adapter = Adapter()
            adapter.reset()
            adapter.add(collection.items)
            for query in collection.queries:
                yield f"{name}, {collection.name}: {query.id}", told(adapter.recall(query.text, 20, query.now or NOW))
            adapter.close()


def answers(file: Path) -> Answers:
    if not file.exists():
        file.write_text(json.dumps(dict([*evaluated(), *large(alone=False), *large(alone=True)])), "utf-8")
    found: Answers = json.loads(file.read_text("utf-8"))
    print(f"{file}: {len(found):,} answers, {sum(map(len, found.values())):,} hits", flush=True)
    return found


def alike(before: list[list[Any]], after: list[list[Any]]) -> bool:
    numbers = zip((n for _, *row in before for n in row), (n for _, *row in after for n in row), strict=False)
    return [id for id, *_ in before] == [id for id, *_ in after] and all(abs(a - b) <= CLOSE for a, b in numbers)


def main() -> None:
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    before, *others = [answers(Path(name)) for name in sys.argv[1:]]
    for after in others:
        asked = before.keys() | after.keys()
        apart = [one for one in asked if not alike(before.get(one, []), after.get(one, []))]
        print("\n".join(sorted(apart)) or "the same")
        if apart:
            raise SystemExit(f"{len(apart)} of {len(before)} answers differ")


if __name__ == "__main__":
    main()
