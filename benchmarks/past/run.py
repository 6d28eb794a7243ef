"""Questions about the past: is the version that held then the first hit, and is nothing else disturbed?

    python benchmarks/past/run.py [--all]          # by kind of question, with and without it; --all names every miss

The world (`world.json`, written by us) is a team's memory over four years: facts and preferences that changed, others
that never did, notes of what happened, and some talk. Forty questions name the past in ten ways; eight more name it by
a value ("before Bo") or by a month in which something else happened; six are of the past of what never changed. Twenty
are of the present, and must be answered, to the last digit, as if nobody read a past out of any question.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from agent_memory import AgentMemory
from agent_memory.app.namespaces.asking import asked
from agent_memory.core.recall.recall import recall
from agent_memory.core.recall.receipt import Question
from agent_memory.models import Turn
from agent_memory.models.answer import Recalled
from agent_memory.models.recipe import DEFAULT

os.environ["AGENT_MEMORY_PROCEDURES"] = "false"  # this repository has pages of its own

WORLD = json.loads((Path(__file__).parent / "world.json").read_text("utf-8"))


class Clock:
    moment = datetime.min.replace(tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment

    def set(self, moment: str) -> None:
        self.moment = datetime.fromisoformat(moment).replace(tzinfo=UTC)


@contextmanager
def told(folder: Path) -> Iterator[AgentMemory]:
    """A store in which the world was told as it happened; now is after all of it."""
    clock = Clock()
    with AgentMemory("team", store=folder / "past.db", clock=clock) as memory:
        for number, one in enumerate(WORLD["memories"]):
            clock.set(one["at"])
            if one["kind"] == "fact":
                memory.learn_fact(one["text"], subject=one["subject"], predicate=one["predicate"])
            elif one["kind"] == "preference":
                name, value = one["text"].split(": ")
                memory.user.set_preference(one["subject"], name, value)
            elif one["kind"] == "turn":
                memory.store_turn(
                    Turn(
                        conversation_id=one["at"][:10],
                        index=number,
                        role="user",
                        content=one["text"],
                        speaker=one["speaker"],
                    )
                )
            else:
                memory.records.add(one["text"])
        clock.set(WORLD["now"])
        yield memory


def without_past(memory: AgentMemory, question: str) -> Recalled:
    """As it would be answered if nobody read the past out of it."""
    client = memory._client
    view, where = asked(client, {}, searchable=True)
    return recall(client.runtime.recalling, Question(question, view, where, 10, DEFAULT, again=True, past=()))


def right(found: Recalled, text: str | None) -> bool:
    return bool(found.hits) and text in (None, found[0].text)


def same(one: Recalled, other: Recalled) -> bool:
    """The same versions in the same order, with the same numbers."""
    return [hit.model_dump() for hit in one] == [hit.model_dump() for hit in other]


def main() -> None:
    counts: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, told(Path(folder)) as memory:
        for one in (*WORLD["past"], *WORLD["values"], *WORLD["unchanged"]):
            found, before = memory.recall(one["question"]), without_past(memory, one["question"])
            counts[one["kind"]].append((right(found, one["right"]), right(before, one["right"])))
            if "--all" in sys.argv and not right(found, one["right"]):
                shown = [(hit.text, round(hit.score, 2)) for hit in found.hits[:3]]
                print(f"{one['question']}\n    {one['right']!r} is not first: {shown}")
        controls = [(one, memory.recall(one["question"])) for one in WORLD["present"]]
        alike = [same(found, without_past(memory, one["question"])) for one, found in controls]
        answered = [right(found, one["right"]) for one, found in controls]
    print("| kind of past | questions | right | without |\n|---|---|---|---|")
    counts["together"] = [one for kind, results in counts.items() if kind != "unchanged" for one in results]
    for kind, results in counts.items():
        new, old = (sum(column) for column in zip(*results, strict=True))
        print(f"| {kind} | {len(results)} | {new} | {old} |")
    print(f"\nOf {len(controls)} questions about the present {sum(answered)} are right, {sum(alike)} as without.")


if __name__ == "__main__":
    main()
