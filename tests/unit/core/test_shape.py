"""What is a question to a memory, and what is prose: a pasted alert, a document, a claim."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_memory.core.recall.question import read
from agent_memory.core.recall.shape import shape

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
ALERT = (
    "[FIRING:1] DiskWillFillIn4Hours readings-db-01 /data 91% used, predicted full at 18:40 today (2025-03-03). Growth"
    " began at about 02:15 last night. The number of tables and rows is as usual, it is the segments directory that"
    " grows by 16 MB files. Backup host was reinstalled yesterday, related? Who is on call?"
)


def shaped(text: str, *speakers: str) -> str:
    return shape(read(text, NOW), frozenset(speakers))


@pytest.mark.parametrize(
    "text",
    [
        "Who was on call on Tuesday?",
        "How many months passed between Andrew adopting Buddy and Scout",
        "Was September a good month for Nate and Joanna? Answer yes or no.",
        "what we decided about the retention of backups in the meeting",
        "tell me about the migration of the billing database",
        "Show everything on the connection pool of the orders database.",
        "the restaurant near the office that opened last week",
        "the meeting about the lift on 10 March 2026 in Berlin",
        "previous owner of the hosted cluster in the team",
        "owner of the hosted cluster before the move",
        "address of the Berlin office back then",
        "checkout latency",
        "E-4410 on a scanner",
        "データベースは昨日なぜ止まりましたか",
        "",
        "Yesterday we talked about the move of the billing database to the other cluster. You gave me three options for"
        " the window in which it could be done, and said which one of them you would take yourself, and why. Which one"
        " was it, and what were your reasons?",
        "In which of the weeks between the first failover exercise of the tracking database and the move of the depots"
        " to the new broker did the team that owns the scanners first ask for a second copy of the events of each day,"
        " and who of them wrote the note?",
    ],
)
def test_a_question_to_a_memory(text: str) -> None:
    assert shaped(text) == "question"


@pytest.mark.parametrize(
    "text",
    [
        ALERT,
        ALERT.casefold(),
        "How do I stop this? " + ALERT,
        ALERT + " The previous owner knew it back then.",
        "Giving up the plough increases the total amount of carbon stored in farmland.",
        "Rapidly charged cells last longer when they are kept warm",
        "In 2019 the trial found no effect of melatonin on jet lag.",
        "5% of perinatal mortality is due to low birth weight.",
    ],
)
def test_prose(text: str) -> None:
    assert shaped(text) == "prose"


def test_a_sentence_about_somebody_who_speaks_here_is_about_a_chat() -> None:
    claim = "Caroline went to a support group in the old town hall."
    assert shaped(claim) == "prose" and shaped(claim, "caroline") == "question"
    assert shaped(ALERT + " Could Priya look?", "priya") == "prose", "a paragraph names people in passing"


def test_every_question_of_our_evaluations_is_a_question_and_every_alert_and_claim_is_prose() -> None:
    lines = (BENCHMARKS / "operations" / "operations.jsonl").read_text("utf-8").splitlines()
    asked = [query["text"] for line in lines for query in json.loads(line)["queries"]]
    asked += [one["text"] for one in json.loads((BENCHMARKS / "links" / "world.json").read_text("utf-8"))["questions"]]
    assert len(asked) > 600 and [text for text in asked if shaped(text) != "question"] == []
    sources = [file.read_text("utf-8").splitlines() for file in (BENCHMARKS / "prose" / "sources").glob("*.txt")]
    pasted = [line.split("|", 3)[3] for source in sources for line in source if line.startswith("? ")]
    missed = [text for text in pasted if shaped(text) != "prose"]
    assert len(pasted) > 90 and len(missed) <= 1, "one claim names two days of the week"
