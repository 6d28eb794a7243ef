"""Everything that training reads, in one file: texts as word pieces, and what a recall finds for each question today.

    .venv/bin/python scripts/train/corpus.py .train/prepared.json.gz [--sets FILE.jsonl …] [--locomo FILE]

`--data` holds our own collections (`*.txt.xz`, in the format of `benchmarks/operations/build.py`). Of each genre the
last is the test half and the one before it the dev half: training reads neither, and choices are made on dev. `--sets`
and `--locomo` are evaluations in the format of `retrieval_eval.py`: measured on, never trained on. Candidates are the
first 50 of a recall with the default recipe, with their scores, so that whoever trains elsewhere can judge a ranker as
the product would use it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import re
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
for folder in ("benchmarks", "benchmarks/operations"):
    sys.path.append(str(HERE.parents[1] / folder))

DEPTH = 50
LONGEST = {"form": 96, "text": 200, "lead": 16}


@dataclass(frozen=True)
class Prepared:
    name: str
    part: str  # train, dev, test, or the evaluation it comes from
    items: list[dict[str, Any]]
    questions: list[dict[str, Any]]


def parted(folder: Path) -> dict[Path, str]:
    """Our own files, and the part that each belongs to."""
    files = {file.name.removesuffix(".txt.xz"): file for file in sorted(folder.glob("*.txt.xz"))}
    last = Counter(map(genre, files))
    parts = {0: "test", 1: "dev"}
    return {file: parts.get(last[genre(name)] - int(re.sub(r"\D", "", name)), "train") for name, file in files.items()}


def ours(folder: Path) -> list[Prepared]:
    """Our own collections, from the readable sources."""
    from build import Source

    found = []
    for file, part in parted(folder).items():
        name = file.name.removesuffix(".txt.xz")
        source = Source(name, lzma.decompress(file.read_bytes()).decode("utf-8"))
        found.append(Prepared(name, part, [_as_role(item) for item in source.items], source.questions))
    return found


def genre(name: str) -> str:
    return name.rstrip("0123456789")


def _as_role(item: dict[str, Any]) -> dict[str, Any]:
    """A person and an assistant are told by their roles, as in a conversation that was stored."""
    who = item["speaker"]
    if who not in ("User", "Assistant"):
        return item
    return item | {"speaker": who.lower(), "text": item["text"].removeprefix(f"{who}: ")}


def evaluated(files: list[Path], locomo: Path | None) -> list[Prepared]:
    """The collections of evaluations, each question once."""
    from ablation import shared

    read, found = shared(), []
    for file in files:
        with read.open_text(file) as lines:
            found += [_one(file.stem, collection) for collection in read.load_collections(lines)]
    if locomo:
        found += [_one("locomo", one) for one in read.load_locomo(json.loads(locomo.read_text("utf-8")))]
    return found


def _one(part: str, collection: Any) -> Prepared:
    questions = [
        {
            "text": query.text,
            "category": "unanswerable" if not query.gold else str(query.category),
            "now": query.now,
            "gold": list(query.gold),
            "apart": query.apart,
        }
        for query in collection.queries
    ]
    return Prepared(f"{part}/{collection.name}", part, list(collection.items), questions)


def prepared(one: Prepared) -> dict[str, Any]:
    """Word pieces and candidates."""
    from agent_memory.core.recall.question import spoken
    from agent_memory.engines.onnx import vocabulary
    from agent_memory.engines.onnx.wordpiece import WordPiece
    from retrieval import Adapter

    words = WordPiece(vocabulary.load())
    place = {item["id"]: number for number, item in enumerate(one.items)}
    adapter = Adapter()
    adapter.reset()
    adapter.add(one.items)
    speakers = {item["speaker"].casefold() for item in one.items if item.get("speaker")} - {"user", "assistant"}
    questions = []
    for question in one.questions:
        text = question["text"]
        hits = adapter.recall(text, DEPTH, question["now"]).hits
        questions.append(
            {
                "category": question["category"],
                "apart": bool(question.get("apart")),
                "gold": sorted(place[id] for id in question["gold"] if id in place),
                "forms": [words.encode(form, LONGEST["form"]) for form in spoken(text, frozenset(speakers))],
                "candidates": [place[hit.id] for hit in hits],
                "scores": [round(hit.score, 5) for hit in hits],
                "fits": [round(hit.relevance, 4) for hit in hits],
            }
        )
    adapter.close()
    return {
        "name": one.name,
        "part": one.part,
        "items": [_item(item, words) for item in one.items],
        "questions": questions,
    }


def _item(item: dict[str, Any], words: Any) -> dict[str, Any]:
    speaker, when = item.get("speaker"), item.get("timestamp")
    text = item["text"].removeprefix(f"{speaker}: ") or "-"
    return {
        "text": words.encode(text, LONGEST["text"]),
        "lead": words.encode(lead(speaker, when), LONGEST["lead"])[1:-1],
        "session": item.get("session_id"),
        "speaker": bool(speaker and speaker not in ("user", "assistant")),
    }


def lead(speaker: str | None, when: str | None) -> str:
    """What a ranker reads before a text: who said it, and when."""
    moment = datetime.fromisoformat(when) if when else None
    return f"{speaker or ''}, {f'{moment.day} {moment:%B %Y}' if moment else ''}".strip(", ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data", type=Path, default=HERE.parents[1] / "models" / "data")
    parser.add_argument("--sets", type=Path, nargs="*", default=[])
    parser.add_argument("--locomo", type=Path)
    given = parser.parse_args()
    everything = ours(given.data) + evaluated(given.sets, given.locomo)
    with ProcessPoolExecutor(2) as pool:
        made = list(pool.map(prepared, everything))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(given.out, "wt", encoding="utf-8") as out:
        json.dump({"collections": made}, out, separators=(",", ":"))
    for part in dict.fromkeys(one["part"] for one in made):
        several = [one for one in made if one["part"] == part]
        print(
            part, len(several), sum(len(one["items"]) for one in several), sum(len(one["questions"]) for one in several)
        )


if __name__ == "__main__":
    main()
