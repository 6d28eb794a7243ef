"""Other people's questions about dialogues, in the format of `retrieval_eval.py`: measured on, never trained on.

    python3 scripts/train/dialogues.py friendsqa_tst.json friends.jsonl    # FriendsQA (Apache-2.0), `dat/`
    python3 scripts/train/dialogues.py MRC/test.json molweni.jsonl         # Molweni (Apache-2.0), `MRC(withDiscourse)/`

Their files are downloaded by hand from where their authors keep them, and stay outside this repository.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

FRIENDS, MOLWENI = 10, (100, 7)  # collections; of Molweni the first dialogues, since they overlap


class Scene(NamedTuple):
    """One dialogue: who said what, and each question with the places of its answers."""

    turns: list[tuple[str, str]]
    questions: list[tuple[str, list[int]]]


def friends(data: Any) -> Iterator[Scene]:
    for scene in data["data"]:
        for part in scene["paragraphs"]:
            turns = [(" and ".join(one["speakers"]), one["utterance"]) for one in part["utterances:"]]
            asked = [(one["question"], [answer["utterance_id"] for answer in one["answers"]]) for one in part["qas"]]
            yield Scene([("Note" if who == "#NOTE#" else who.split()[0], text) for who, text in turns], asked)


def molweni(data: Any) -> Iterator[Scene]:
    for dialogue in data["data"]["dialogues"][: MOLWENI[0]]:
        turns = [(one["speaker"], one["text"]) for one in dialogue["edus"]]
        starts, at = [], 0
        for who, text in turns:
            starts.append(at)
            at += len(f"{who}: {text} ")
        asked = []
        for one in dialogue["qas"]:
            places = [
                max(place for place, start in enumerate(starts) if start <= answer["answer_start"])
                for answer in one["answers"]
            ]
            asked.append((one["question"], places))
        yield Scene(turns, asked)


def tidy(text: str) -> str:
    """Undo the blanks that splitting into words left."""
    text = re.sub(r" (n't\b|'\w+\b|[.,!?;:’])", r"\1", text.replace("？", "?"))
    return re.sub(r"\s+", " ", text).strip()


def collection(name: str, scenes: list[Scene]) -> dict[str, Any]:
    items, queries, answers = [], [], {}
    for number, scene in enumerate(scenes):
        for place, (who, text) in enumerate(scene.turns):
            about = {"speaker": who, "timestamp": None, "session_id": f"{name}-s{number}"}
            items.append({"id": f"{name}-{number}-{place}", "text": f"{who}: {tidy(text)}", **about})
        for text, places in scene.questions:
            query = {
                "id": f"{name}/q{len(queries)}",
                "text": tidy(text),
                "category": "answered" if places else "unanswerable",
            }
            queries.append(query | ({} if places else {"apart": True}))
            answers[query["id"]] = {f"{name}-{number}-{place}": 1 for place in places}
    return {"name": name, "corpus": items, "queries": queries, "qrels": answers}


def main() -> None:
    source, out = map(Path, sys.argv[1:])
    data = json.loads(source.read_text("utf-8"))
    scenes, count = (
        (list(molweni(data)), MOLWENI[1]) if isinstance(data["data"], dict) else (list(friends(data)), FRIENDS)
    )
    with out.open("w", encoding="utf-8") as lines:
        for part in range(count):
            chosen = scenes[len(scenes) * part // count : len(scenes) * (part + 1) // count]
            lines.write(json.dumps(collection(f"{out.stem}-{part}", chosen)) + "\n")


if __name__ == "__main__":
    main()
