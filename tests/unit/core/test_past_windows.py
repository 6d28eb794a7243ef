"""Which questions are about the past, and of when."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agent_memory.core.recall.past import BEGINNING, Window, clause, placed, rest, windows
from agent_memory.core.recall.question import read
from agent_memory.models.moment import from_micros, to_micros
from agent_memory.models.record import Record, Scope

NOW = datetime(2026, 11, 16, 9, tzinfo=UTC)  # a Monday
AT = to_micros(NOW)


def named(text: str) -> list[tuple[str, str]]:
    return [(one.words, one.side) for one in windows(text, read(text, NOW).periods, AT)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Who was on call on Tuesday?", [("Tuesday", "during")]),
        ("Who is on call on Tuesday?", []),
        ("Which port in March?", [("March", "during")]),
        ("Which port do we use since March?", []),
        ("Which port did we use before March 2026?", [("before March 2026", "before")]),
        ("Which port did we use after 1 June 2026?", [("after 1 June 2026", "after")]),
        ("Which port did we use to have?", [("use to", "over")]),
        ("Who was the previous owner?", [("the previous", "over")]),
        ("Which port was it originally?", [("originally", "after")]),
        ("What is the port that we used in March?", [("March", "during")]),
        ("What did we change recently?", []),
        ("What happens next week?", []),
        ("Who will be on call on Friday?", []),
        ("Which port in May?", [("May", "during")]),
        ("Which team used to own the cluster?", [("used to", "over")]),
        ("Where we used to deploy", [("used to", "over")]),
        ("Which tool is used to deploy the service?", []),
        ("What is the command used to run the tests?", []),
        ("Fix our pipeline with the command used to deploy the service", []),
        ("What can I use to deploy?", []),
        ("tool to use to deploy", []),
        ("Which approvals do we need in March?", []),
        ("Who owns the cluster that was moved in March?", []),
        ("Do you remember what I told you before?", []),
        ("previous owner of the hosted cluster in the team", [("previous", "over")]),
    ],
)
def test_the_times_that_a_question_names(text: str, found: list[tuple[str, str]]) -> None:
    assert named(text) == found


@pytest.mark.parametrize(
    ("until", "end"),
    [
        ("until 5 November", "2026-11-05"),
        ("Till Thursday", "2026-11-12"),
        ("until last Thursday", "2026-11-12"),
        ("until today", "2026-11-16"),
        ("until March", "2026-03-01"),
        ("until 2025", "2025-01-01"),
        ("until the end of May", "2026-06-01"),
        ("by 5 November", "2026-11-06"),
    ],
)
def test_what_was_so_until_a_day_was_over_when_it_began(until: str, end: str) -> None:
    text = f"Who was on call {until}?"
    (found,) = windows(text, read(text, NOW).periods, AT)
    assert (found.side, found.words) == ("before", until) and from_micros(
        found.end
    ).isoformat() == f"{end}T00:00:00+00:00"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Where was our office before the move?", ("the move", "before", False)),
        ("Before the move, where was our office?", ("the move", "before", False)),
        ("Where did we deploy when we still used Jenkins?", ("we used Jenkins", "during", True)),
        ("Who was on call during the outage?", ("the outage", "during", False)),
        ("Who led the team after Ana left?", ("Ana left", "after", False)),
        ("When did we move?", None),
        ("When was the outage?", None),
        ("What do we check before the release?", None),
        ("What was it before March?", None),
        ("Which port did we use before?", None),
        ("Who was on call when we needed help?", ("we needed help", "during", False)),
        ("How many approvals do we need before the release?", None),
        ("Which port do you need when you connect to the database?", None),
        ("Who owns the hosted cluster after the move?", None),
        ("Which hosted cluster is ours after the move?", None),
        ("Is it deployed before the release?", None),
        ("How is the token refreshed when it expired?", None),
        ("What should I do when it failed?", None),
        ("Deploy our service after it passed review", None),
        ("We need to deploy our service: write the pipeline when the tests passed", None),
        ("Take care of the cluster before the move", None),
    ],
)
def test_a_time_that_is_named_by_what_happened(text: str, said: tuple[str, str, bool] | None) -> None:
    found = clause(text, read(text, NOW).periods)
    assert (found and (found.said, found.side, found.still)) == said
    if found:
        left = rest(text, (Window(0, 1, found.side, found.words, apart=True),))
        assert left.casefold().startswith(("where", "who", ", where")) and found.words not in left


@pytest.mark.parametrize(
    "text",
    [
        "Which team owned the cluster before the move?",
        "Do you know who was on call before the move?",
        "Can you tell me who owned the cluster before the move?",
        "owner of the hosted cluster before the move",
    ],
)
def test_asking_to_be_told_and_naming_what_was_are_of_the_past(text: str) -> None:
    found = clause(text, ())
    assert found and (found.said, found.side) == ("the move", "before")


def event(text: str, begins: datetime, ends: datetime | None = None) -> Record:
    return Record(
        id="e", kind="observation", scope=Scope(), text=text, valid_from=begins, valid_to=ends, recorded_at=NOW, seq=1
    )


def test_when_something_was() -> None:
    before, during = (clause(f"Who was on call {word} the move?", ()) for word in ("before", "during"))
    assert before and during
    told = NOW - timedelta(days=10)
    midnight = told.replace(hour=0)
    assert placed(before, event("we moved", told), AT) == Window(
        BEGINNING, to_micros(midnight), "before", "before the move", True
    )
    assert from_micros(placed(before, event("we moved on 3 May 2026", told), AT).end) == datetime(
        2026, 5, 3, tzinfo=UTC
    )
    held = placed(during, event("we move", told, told + timedelta(days=2)), AT)
    assert (from_micros(held.start), from_micros(held.end)) == (told, told + timedelta(days=2))


def test_no_string_raises() -> None:
    for text in ("before", "when", "before " * 3000, "after \x00?", "used to" * 2000, "while 在 before"):
        periods = read(text, NOW).periods
        windows(text, periods, AT)
        clause(text, periods)
