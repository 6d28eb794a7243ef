"""How much of what turns say is found, and how much of what is found is said: precision and recall on a labelled set.

    python benchmarks/extraction/run.py [--misses develop]

With `--misses` everything that is wrong in that half is shown.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from agent_memory.core.upkeep.extract.rules import extract
from agent_memory.core.upkeep.extract.values import Extract, Said
from small import at_most

HERE = Path(__file__).parent
AT = datetime(2024, 5, 15, 10, tzinfo=UTC)
WHAT = ("facts", "entities", "relations", "dates", "preferences")


def plain(text: str) -> str:
    words = text.lower().split()
    return " ".join(words[1:] if words[:1] in (["the"], ["a"], ["an"], ["our"]) else words)


def labelled(line: dict[str, Any]) -> dict[str, set[tuple[Any, ...]]]:
    entities = {(plain(name), type) for type, names in line.get("entities", {}).items() for name in names}
    facts = {(*map(plain, one[:3]), len(one) > 3) for one in line.get("facts", [])}
    return {
        "facts": facts,
        "entities": entities,
        "relations": _relations(facts, entities),
        "dates": {(one,) for one in line.get("dates", [])},
        "preferences": {(one[0], plain(one[1])) for one in line.get("preferences", [])},
    }


def found(one: Extract, dates: set[tuple[Any, ...]]) -> dict[str, set[tuple[Any, ...]]]:
    entities = {(plain(named.name), named.type) for named in one.entities}
    facts = {(plain(c.subject), plain(c.predicate), plain(c.object), c.negated) for c in one.claims}
    return {
        "facts": facts,
        "entities": entities,
        "relations": _relations(facts, entities),
        "dates": {_day(period.first, period.end, dates) for period in one.dates},
        "preferences": {(wish.wanted, plain(wish.what)) for wish in one.wishes},
    }


def _relations(facts: set[tuple[Any, ...]], entities: set[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    names = {name for name, _ in entities}
    return {one for one in facts if one[2].removesuffix(" team") in names}


def _day(first: datetime, end: datetime, labels: set[tuple[Any, ...]]) -> tuple[str]:
    """The label that lies in the period; else the period's own beginning."""
    for (label,) in sorted(labels):
        if first <= datetime.fromisoformat(label).replace(tzinfo=UTC) < end:
            return (label,)
    return (first.date().isoformat(),)


def measured(half: str, misses: bool) -> Iterator[str]:
    right, told, wanted = defaultdict(int), defaultdict(int), defaultdict(int)
    junk, silent = 0, 0
    lines = (HERE / f"{half}.jsonl").read_text("utf-8").splitlines()
    lines = lines[: at_most(len(lines), 40)]
    began = time.process_time()
    extracts = [extract(Said(json.loads(line)["text"], AT)) for line in lines]
    spent = time.process_time() - began
    for text, extracted in zip(lines, extracts, strict=True):
        line = json.loads(text)
        labels = labelled(line)
        results = found(extracted, labels["dates"])
        if line["kind"] in ("question", "hypothetical", "joke", "reported", "nothing_to_keep"):
            silent += 1
            junk += bool(results["facts"])
        for what in WHAT:
            right[what] += len(results[what] & labels[what])
            told[what] += len(results[what])
            wanted[what] += len(labels[what])
            if misses and results[what] != labels[what]:
                yield f"  {what}: {line['text']}"
                yield f"    wrong {sorted(results[what] - labels[what])}  missed {sorted(labels[what] - results[what])}"
    yield f"{half}: {len(lines)} turns, {1000 * spent / len(lines):.2f} ms of CPU each"
    yield f"  {junk} of {silent} turns that claim nothing gave a fact"
    for what in WHAT:
        precision, recall = right[what] / max(told[what], 1), right[what] / max(wanted[what], 1)
        f1 = 2 * precision * recall / max(precision + recall, 1e-9)
        counts = f"{right[what]} right, {told[what]} found, {wanted[what]} labelled"
        yield f"  {what:12} precision {precision:.3f}  recall {recall:.3f}  F1 {f1:.3f}  ({counts})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--misses", choices=["develop"])
    chosen = parser.parse_args()
    for half in ("develop", "held_out"):
        print(*measured(half, chosen.misses == half), sep="\n")
