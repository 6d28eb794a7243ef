"""Questions about the past are answered by what held then, and those about the present as ever. The world and its
questions are those of `benchmarks/past`; the embedder is the real one."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType

import pytest

from agent_memory import AgentMemory
from agent_memory.core.write.embed import Embedding
from agent_memory.models.errors import NotFound
from agent_memory.models.recipe import Recipe
from agent_memory.ports.records import View

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "past" / "run.py"


@pytest.fixture(scope="module")
def past() -> ModuleType:
    spec = importlib.util.spec_from_file_location("past_questions", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def team(past: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentMemory]:
    monkeypatch.setenv("AGENT_MEMORY_PROCEDURES", "false")
    with past.told(tmp_path) as memory:
        yield memory


def test_thirty_six_of_forty_questions_about_the_past_are_right(past: ModuleType, team: AgentMemory) -> None:
    asked = past.WORLD["past"]
    wrong = [one["question"] for one in asked if not past.right(team.recall(one["question"]), one["right"])]
    assert len(asked) == 40 and len({one["kind"] for one in asked}) == 10
    assert len(wrong) <= 4, wrong


def test_a_time_named_by_a_value_is_that_of_its_version(past: ModuleType, team: AgentMemory) -> None:
    asked = past.WORLD["values"]
    found = {one["question"]: team.recall(one["question"])[0] for one in asked}
    assert {question: hit.text for question, hit in found.items()} == {one["question"]: one["right"] for one in asked}
    assert all(hit.held_until is not None and hit.fits for hit in found.values())


def test_what_never_changed_is_found_by_questions_about_the_past(past: ModuleType, team: AgentMemory) -> None:
    """All but one: vectors differ a little from one CPU to the next, and two answers may be as near."""
    asked = past.WORLD["unchanged"]
    wrong = [one["question"] for one in asked if not past.right(team.recall(one["question"]), one["right"])]
    assert len(wrong) <= 1, wrong


def test_questions_about_the_present_are_answered_as_ever(past: ModuleType, team: AgentMemory) -> None:
    assert len(past.WORLD["present"]) == 20
    for one in past.WORLD["present"]:
        found = team.recall(one["question"])
        assert past.same(found, past.without_past(team, one["question"])), one["question"]
        assert past.right(found, one["right"]), one["question"]
        assert all(hit.held_until is None for hit in found)


def test_where_nothing_has_ended_a_question_about_the_past_is_answered_as_ever(
    past: ModuleType, tmp_path: Path
) -> None:
    with AgentMemory("team", store=tmp_path / "m.db") as memory:
        for one in past.WORLD["memories"]:
            memory.records.add(one["text"], valid_from=datetime.fromisoformat(one["at"]).replace(tzinfo=UTC))
        for one in past.WORLD["past"]:
            found, before = memory.recall(one["question"]), past.without_past(memory, one["question"])
            assert [(hit.id, hit.score, hit.relevance) for hit in found] == [
                (hit.id, hit.score, hit.relevance) for hit in before
            ]


def test_every_answer_about_the_past_can_be_had_again(past: ModuleType, team: AgentMemory) -> None:
    asked = (*past.WORLD["past"], *past.WORLD["values"])
    receipts = [team.recall(one["question"]).receipt_id for one in asked]
    team.learn_fact("Fay is on call for payments", subject="payments", predicate="on call")
    team.records.add("The office move was cancelled after all")
    for receipt in receipts:
        replay = team.receipts.replay(receipt)
        assert replay.identical and replay.same_pipeline


def rota(memory: AgentMemory) -> None:
    now = datetime.now(UTC)
    for days, name in ((9, "Ann"), (1, "Bob")):
        payload = {"subject": "payments", "predicate": "on call"}
        memory.records.add(
            f"{name} is on call", kind="fact", payload=payload, valid_from=now - timedelta(days=days), id="rota"
        )


def test_a_hit_says_until_when_it_held(memory: AgentMemory) -> None:
    rota(memory)
    first, second = memory.recall("who was on call five days ago?")
    assert (first.text, second.text) == ("Ann is on call", "Bob is on call")
    assert first.held_until == first.record.valid_to == second.record.valid_from and second.held_until is None
    assert first.relevance > second.relevance and first.score > second.score


def test_until_a_day_is_the_version_that_ended_then(memory: AgentMemory) -> None:
    for day, name in ((1, "Ann"), (5, "Bo"), (12, "Cy")):
        since = datetime(2026, 1, day, tzinfo=UTC)
        memory.learn_fact(f"{name} is on call", subject="payments", predicate="on call", valid_from=since)
    for until in ("until 5 January 2026", "till 2026-01-05"):
        found = memory.recall(f"who was on call {until}?")
        assert found[0].text == "Ann is on call" and found.past[0].words == until


@pytest.fixture
def same_day(memory: AgentMemory) -> AgentMemory:
    """Five that followed one another within minutes; the third said it twice."""
    for name in ("Ann", "Bo", "Cy", "Cy, by phone", "Dee", "Bo"):
        memory.learn_fact(f"On call: {name}", subject="payments", predicate="on call")
    return memory


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("who was on call before Dee?", "On call: Cy, by phone"),
        ("who was on call before Cy?", "On call: Bo"),
        ("who was on call before Cy took over?", "On call: Bo"),
        ("who was on call before Bo?", "On call: Dee"),  # the last time
        ("who was on call after Cy?", "On call: Dee"),
        ("who was on call after Ann?", "On call: Bo"),
        ("who took the pages on call before Dee?", "On call: Cy, by phone"),
        ("whose turn on call before Dee?", "On call: Cy, by phone"),  # no verb tells, the value does
    ],
)
def test_versions_of_one_day_are_told_apart(same_day: AgentMemory, question: str, right: str) -> None:
    found = same_day.recall(question)
    assert found[0].text == right and [one.words for one in found.past] == [
        question[question.index("call") + 5 :].rstrip("?")
    ]
    assert same_day.receipts.replay(found.receipt_id).identical


@pytest.mark.parametrize(
    "question",
    ["who is on call before Dee?", "who is on call after Ann?", "on call before Dee", "whose turn on call during Cy"],
)
def test_a_value_alone_makes_no_past(same_day: AgentMemory, question: str) -> None:
    found = same_day.recall(question)
    assert [hit.text for hit in found] == ["On call: Bo"] and found.past == []


def test_a_value_of_something_else_tells_the_time_alone(changed: AgentMemory) -> None:
    found = changed.recall("Who owned the hosted cluster before GitHub Actions?")
    assert found[0].text == "The hosted cluster is owned by team Red"


def test_whoever_says_when_is_not_second_guessed(memory: AgentMemory) -> None:
    rota(memory)
    question, now = "who was on call five days ago?", datetime.now(UTC)
    for when in ({"valid_at": now}, {"as_of": now + timedelta(hours=1)}):
        assert [hit.text for hit in memory.recall(question, **when)] == ["Bob is on call"]  # type: ignore[arg-type]


@pytest.fixture
def changed(memory: AgentMemory) -> AgentMemory:
    now = datetime.now(UTC)
    told = [
        ("deploy", 400, "We deploy the service with Jenkins"),
        ("owner", 398, "The hosted cluster is owned by team Red"),
        ("approvals", 350, "The checklist asks for two approvals"),
        ("move", 200, "The move to the new office in Berlin"),
        ("release", 190, "The release of version 2 was in May"),
        ("approvals", 31, "The checklist asks for one approval"),
        ("deploy", 30, "We deploy the service with GitHub Actions"),
        ("owner", 10, "The hosted cluster is owned by team Green"),
    ]
    for id, days, text in told:
        payload = {"subject": id, "predicate": id}
        memory.records.add(text, kind="fact", payload=payload, valid_from=now - timedelta(days=days), id=id)
    return memory


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Which tool is used to deploy the service?", "GitHub Actions"),
        ("How many approvals do we need before the release?", "one approval"),
        ("Who owns the hosted cluster after the move?", "Green"),
    ],
)
def test_a_present_question_that_looks_like_the_past_gets_what_holds(
    changed: AgentMemory, question: str, right: str
) -> None:
    found = changed.recall(question)
    assert found.past == [] and all(hit.held_until is None for hit in found)
    assert right in next(hit.text for hit in found if hit.id in ("deploy", "approvals", "owner"))


@pytest.mark.parametrize(
    "words", ["previous owner of the hosted cluster in the team", "owner of the hosted cluster before the move"]
)
def test_what_is_over_needs_no_sentence(changed: AgentMemory, words: str) -> None:
    first = changed.recall(words)[0]
    assert first.text == "The hosted cluster is owned by team Red" and first.held_until is not None


def test_a_task_is_of_the_present(changed: AgentMemory) -> None:
    text = changed.assemble_context("Deploy our service after it passed review", 500).text
    assert "GitHub Actions" in text and "Jenkins" not in text


def test_forgetting_what_told_the_time_takes_the_receipt(memory: AgentMemory) -> None:
    rota(memory)
    day = datetime.now(UTC) - timedelta(days=4)
    move = memory.records.add("The office move was done", valid_from=day).id
    found = memory.recall("who was on call before the office move?", k=1)
    assert found[0].text == "Ann is on call"
    assert memory.receipts.replay(found.receipt_id).identical
    memory.records.forget([move])
    with pytest.raises(NotFound):
        memory.receipts.replay(found.receipt_id)


def test_a_recall_makes_missing_vectors_once(changed: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[float] = []

    def too_slow(self: Embedding, view: View, *, seconds: float, now: int) -> None:
        tried.append(seconds)

    monkeypatch.setattr(Embedding, "try_to_catch_up", too_slow)
    changed.records.add_many([{"text": "a note"}])
    found = changed.recall("who owned the hosted cluster before the move?")
    assert found[0].text == "The hosted cluster is owned by team Red" and found.pending == 1
    assert len(tried) == 1, "though it looks three times"


def test_an_answer_without_anything_that_is_over_can_be_had_again(memory: AgentMemory) -> None:
    now = datetime.now(UTC)
    for days, word in ((500, "old"), (499, "new")):
        for number in range(20):
            payload = {"subject": f"q{number}", "predicate": "p"}
            text, day = f"zeta quux {word} {chr(97 + number)}", now - timedelta(days=days)
            memory.records.add(text, kind="fact", payload=payload, valid_from=day, id=f"q{number}")
    for number in range(40):
        memory.records.add(f"The office move number {number} decided server {number % 7} of Hamburg")
    found = memory.recall("Where was server 5 during the office move?", 5, Recipe(pool=5))
    assert found.past == [] and all(hit.held_until is None for hit in found)
    replay = memory.receipts.replay(found.receipt_id)
    assert replay.identical and replay.recalled.searched == found.searched


def test_contexts_and_bundles_say_until_when_it_held(memory: AgentMemory) -> None:
    rota(memory)
    question = "who was on call five days ago?"
    until = f"{datetime.now(UTC) - timedelta(days=1):%Y-%m-%d}"
    for form in ("markdown", "xml", "json"):
        text = memory.assemble_context(question, 500, format=form).text  # type: ignore[arg-type]
        line = next(line for line in text.splitlines() if "Ann is on call" in line)
        assert "held" in line and until in line
        assert "held" not in next(line for line in text.splitlines() if "Bob is on call" in line)
    bundle = memory.remember(question)
    assert [fact["held_until"] is None for fact in bundle.facts] == [False, True]
    assert f"held until {until}" in bundle.to_context_string()


def test_a_bundle_has_the_version_that_held_then_first(memory: AgentMemory) -> None:
    now = datetime.now(UTC)
    for days, name in ((60, "Ann"), (11, "Bo"), (4, "Cy")):
        since = now - timedelta(days=days)
        memory.learn_fact(f"{name} is on call", subject="payments", predicate="on call", valid_from=since)
    memory.learn_fact("CI runs on Buildkite", subject="CI", predicate="runs on")
    question = "who was on call before Bo?"
    recalled = [hit.text for hit in memory.recall(question)]
    assert recalled[0] == "Ann is on call"
    assert [fact["claim"] for fact in memory.remember(question).facts] == recalled
    assert memory.remember("who is on call?").facts[0]["claim"] == "Cy is on call"
