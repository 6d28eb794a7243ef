"""Write `operations.jsonl` from the readable sources next to it, and check them.

    python benchmarks/operations/build.py            # write, then print the counts
    python benchmarks/operations/build.py --review   # print each question with its evidence, for reading

A source is a text file:

    now: 2025-04-30T10:00      when its questions are asked, unless a question names its own moment
    speakers: tagged           "tagged": texts begin with "Name: "; "plain": they don't
    sessions: no               the items belong to no session
    @ 2025-02-03T09:14         a session (or document) begins; "@" alone: one without a time
    Name {key}: text           an item; indented lines continue it; its key is for the questions and not in the data
    - {key} text               an item without a speaker; "- {key} 2025-02-03 | text" has a time of its own
    ? category | now | keys | question
    ! absent | question        nothing in the collection answers it; absent is the whole topic, the entity that is asked
                               about (its topic is there), or the attribute of an entity that is there
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = ["channel", "assistant", "runbooks", "notes", "reports", "languages"]
ABSENT = ["topic", "entity", "attribute"]
SPOKEN = re.compile(r"(?P<speaker>[^\W\d]\w*)(?: \{(?P<key>\w+)\})?: (?P<text>.+)")
WRITTEN = re.compile(r"- (?:\{(?P<key>\w+)\} )?(?:(?P<date>\d{4}-\d\d-\d\d(?:T[\d:]+)?) \| )?(?P<text>.+)")


class Source:
    """`first`: which half of each category's questions begins, odd or even."""

    def __init__(self, name: str, text: str, first: int = 0) -> None:
        self.name = name
        self._first = first
        self.items: list[dict] = []
        self.questions: list[dict] = []
        self._keys: dict[str, str] = {}
        self._settings = {"now": "", "speakers": "plain", "sessions": "yes"}
        self._session, self._start, self._turn = 0, "", 0
        for number, line in enumerate(text.splitlines(), 1):
            try:
                self._read(line)
            except (ValueError, KeyError, IndexError) as error:
                raise SystemExit(f"{name}.txt:{number}: {error!r} in {line[:80]!r}") from error
        if self._settings["speakers"] == "tagged":
            for item in self.items:
                item["text"] = f"{item['speaker']}: {item['text']}"

    def _read(self, line: str) -> None:
        if not line.strip() or line.startswith("#"):
            return
        if line.startswith("  "):
            self.items[-1]["text"] += "\n" + line.strip()
        elif line.startswith("@"):
            self._session, self._start, self._turn = self._session + 1, line[1:].strip(), 0
        elif line.startswith("? "):
            category, now, keys, text = (part.strip() for part in line[2:].split("|", 3))
            self._ask(text, category, now, [self._keys[key] for key in keys.split()])
        elif line.startswith("! "):
            absent, text = (part.strip() for part in line[2:].split("|", 1))
            self._ask(text, "unanswerable", "", [])
            self.questions[-1]["absent"] = ABSENT[ABSENT.index(absent)]
        elif (setting := re.fullmatch(r"(now|speakers|sessions): (\S+)", line)) and not self.items:
            self._settings[setting[1]] = setting[2]
        elif found := (WRITTEN if line.startswith("- ") else SPOKEN).fullmatch(line):
            self._add(**{"speaker": None, "date": None} | found.groupdict())
        else:
            raise ValueError("neither an item nor a question")

    def _add(self, speaker: str | None, key: str | None, date: str | None, text: str) -> None:
        when = date or self._start
        if when:
            moment = datetime.fromisoformat(when)
            when = (moment if date or not speaker else moment + timedelta(minutes=self._turn)).isoformat()
        self._turn += 1
        identity = f"{self.name}-{len(self.items) + 1:03}"
        self.items.append(
            {
                "id": identity,
                "text": text,
                "speaker": speaker,
                "timestamp": when or None,
                "session_id": f"{self.name}-s{self._session:02}" if self._settings["sessions"] == "yes" else None,
            }
        )
        if key and self._keys.setdefault(key, identity) != identity:
            raise ValueError(f"{key} names two items")

    def _ask(self, text: str, category: str, now: str, gold: list[str]) -> None:
        if any(text == other["text"] for other in self.questions) or len(set(gold)) < len(gold):
            raise ValueError("twice")
        if not gold and category != "unanswerable":
            raise ValueError("no evidence")
        moment = datetime.fromisoformat(now or self._settings["now"]).isoformat()
        question = {"id": f"{self.name}/q{len(self.questions) + 1:03}", "text": text, "category": category}
        self.questions.append(question | {"now": moment, "gold": gold})

    def half(self, which: str) -> dict:
        """Every second question of each category; which of them begins alternates, so that the halves are as large."""
        seen: Counter[str] = Counter()
        queries, qrels = [], {}
        for question in self.questions:
            place = seen[question["category"]] + self._first + len(question["category"])
            seen[question["category"]] += 1
            if place % 2 != (which == "test"):
                continue
            query = {key: value for key, value in question.items() if key != "gold"}
            queries.append(query | ({} if question["gold"] else {"apart": True}))
            qrels[question["id"]] = dict.fromkeys(question["gold"], 1)
        return {"name": f"{self.name}-{which}", "corpus": self.items, "queries": queries, "qrels": qrels}


def read(file: Path, first: int = 0) -> Source:
    return Source(file.stem, file.read_text("utf-8"), first)


def review(source: Source) -> None:
    texts = {item["id"]: item for item in source.items}
    for question in source.questions:
        print(f"\n{question['id']} [{question['category']}] {question['now'][:10]}  {question['text']}")
        for identity in question["gold"]:
            item = texts[identity]
            when = datetime.fromisoformat(item["timestamp"]).strftime("%a %Y-%m-%d") if item["timestamp"] else "-"
            print(f"    {identity} {when} {item['text'][:600]}")


def main() -> None:
    sources = [read(HERE / "sources" / f"{name}.txt", place) for place, name in enumerate(SOURCES)]
    if "--review" in sys.argv:
        for source in sources:
            review(source)
        return
    lines = [source.half(which) for which in ("dev", "test") for source in sources]
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (HERE / "operations.jsonl").write_text(text, "utf-8")
    for number, line in enumerate(lines, 1):
        counts = Counter(query["category"] for query in line["queries"])
        unanswerable = counts.pop("unanswerable", 0)
        words = sum(len(item["text"].split()) for item in line["corpus"]) / len(line["corpus"])
        print(
            f"{number:>2} {line['name']:15} {len(line['corpus'])} items of {words:.0f} words,"
            f" {counts.total()} questions + {unanswerable}: {dict(sorted(counts.items()))}"
        )
    totals = Counter(query["category"] for line in lines for query in line["queries"])
    print(f"in all {totals.total()}: {dict(sorted(totals.items()))}")


if __name__ == "__main__":
    main()
