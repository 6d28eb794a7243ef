"""What the models that ship are worth: recall with the default recipe and with `best`, on texts they never saw.

    .venv/bin/python benchmarks/models.py            # the table of benchmarks/README.md: a quarter of an hour
    .venv/bin/python benchmarks/models.py --check    # compares with models/figures.json: `make models-check`
    .venv/bin/python benchmarks/models.py --write    # writes them anew, after training

Our own test half by genre, operations, and LoCoMo. `apart` is the area under the curve of the best relevance among the
first five hits: how well it tells questions that something answers from those that nothing does.
"""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE / "operations"), str(HERE.parent / "scripts" / "train")]

from corpus import Prepared, evaluated, genre, ours  # noqa: E402

from ablation import EVAL  # noqa: E402
from agent_memory.engines.onnx.ranker import OnnxRanker  # noqa: E402
from agent_memory.models.recipe import RECIPES  # noqa: E402
from agent_memory.ports.reranker import TextInPlace  # noqa: E402
from retrieval import Adapter  # noqa: E402
from small import SMALL  # noqa: E402

FIGURES = HERE.parent / "models" / "figures.json"
ASKED = ("default", "best")
FIRST, TOLERANCE = 5, 1.0  # in points; processors differ a little


class Found(NamedTuple):
    """What one question got."""

    recalls: tuple[float, float] | None  # @5 and @10; None where nothing answers
    fits: float


def part(one: Prepared) -> str:
    return genre(one.name).rstrip("-") if one.part == "test" else one.part


def asked(one: Prepared) -> dict[str, list[Found]]:
    adapter = Adapter()
    adapter.reset()
    adapter.add(one.items)
    found: dict[str, list[Found]] = {recipe: [] for recipe in ASKED}
    for question in one.questions[: 6 if SMALL else None]:
        if question.get("apart") and question["gold"]:
            continue
        for recipe in ASKED:
            adapter.recipe = RECIPES[recipe]
            hits = adapter.recall(question["text"], 10, question["now"]).hits
            ids, gold = [hit.id for hit in hits], question["gold"]
            at = tuple(sum(id in ids[:k] for id in gold) / len(gold) for k in (5, 10)) if gold else None
            found[recipe].append(Found(at, max((hit.relevance for hit in hits[:FIRST]), default=0.0)))
    adapter.close()
    return found


def area(wrong: list[float], right: list[float]) -> float | None:
    """How often something that is answered fits better than something that is not."""
    if not wrong or not right:
        return None
    won = sum((one > other) + (one == other) / 2 for one in right for other in wrong)
    return round(won / len(wrong) / len(right), 3)


def figures(found: list[Found]) -> dict[str, Any]:
    rows = [one.recalls for one in found if one.recalls]
    means = [round(100 * sum(column) / len(rows), 1) for column in zip(*rows, strict=True)]
    unanswered = [one.fits for one in found if one.recalls is None]
    return {"n": len(rows), "recall": means, "apart": area(unanswered, [one.fits for one in found if one.recalls])}


def measured() -> dict[str, dict[str, Any]]:
    locomo = EVAL / "locomo" / "locomo10.json"
    everything = [one for one in ours(HERE.parent / "models" / "data") if one.part == "test"]
    everything += evaluated([HERE / "operations" / "operations.jsonl"], locomo if locomo.is_file() else None)
    everything = everything[::6] if SMALL else everything
    together: dict[str, dict[str, list[Found]]] = {}
    with ProcessPoolExecutor(2) as pool:
        for one, found in zip(everything, pool.map(asked, everything), strict=True):
            for recipe, rows in found.items():
                together.setdefault(part(one), {}).setdefault(recipe, []).extend(rows)
    return {name: {recipe: figures(rows) for recipe, rows in ways.items()} for name, ways in together.items()}


def table(told: dict[str, dict[str, Any]]) -> str:
    lines = [
        "| texts | questions | default @5 / @10 | `best` @5 / @10 | apart: default, `best` |",
        "|---|---|---|---|---|",
    ]
    for name, ways in told.items():
        recalls = [" / ".join(f"{value:.1f}" for value in ways[recipe]["recall"]) for recipe in ASKED]
        apart = ", ".join(f"{ways[recipe]['apart']:.2f}" if ways[recipe]["apart"] else "–" for recipe in ASKED)
        lines.append(f"| {name} | {ways['default']['n']:,} | {recalls[0]} | {recalls[1]} | {apart} |")
    return "\n".join(lines)


def differences(told: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]]) -> list[str]:
    found = []
    for name in sorted(told.keys() & before.keys()):
        for recipe in ASKED:
            now, then = told[name][recipe], before[name][recipe]
            if now["n"] != then["n"] or any(
                abs(a - b) > TOLERANCE for a, b in zip(now["recall"], then["recall"], strict=True)
            ):
                found.append(f"{name}, {recipe}: {now['recall']} of {now['n']}, not {then['recall']} of {then['n']}")
    return found


def milliseconds() -> float:
    """CPU of twenty pairs of 92 word pieces, as they are in a long talk; the best of five."""
    ranker = OnnxRanker()
    pair = TextInPlace("We spent two weeks in Lisbon " * 9, "Caroline, 3 May 2023", "so how was the trip " * 3)
    taken = []
    for _ in range(6):
        started = time.process_time()
        ranker.judge("Where did Caroline go on holiday with her family last year?", [pair] * 20, 60)
        taken.append((time.process_time() - started) * 1000)
    return min(taken[1:])  # the first loads it


def main() -> None:
    print(f"twenty pairs: {milliseconds():.0f} ms of CPU\n")
    told = measured()
    print(table(told))
    if "--write" in sys.argv:
        FIGURES.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    if "--check" in sys.argv and not SMALL and (wrong := differences(told, json.loads(FIGURES.read_text("utf-8")))):
        raise SystemExit("\n".join(["These figures are not those of models/figures.json:", *wrong]))


if __name__ == "__main__":
    main()
