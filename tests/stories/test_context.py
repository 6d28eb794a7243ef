"""A prompt from memory: for a task, from all tiers, within a budget, with an account of itself. T5, P3, C9."""

from __future__ import annotations

from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.models import Entity, Goal, Turn
from agent_memory.models.errors import InvalidInput, NotFound

TASK = "why is checkout slow?"


def fill(memory: AgentMemory) -> None:
    memory.user.set_preference("git", "merge style", "rebase")
    memory.user.set_expertise("postgres", "expert")
    memory.add_goal(Goal(description="Move checkout to eu-2", priority=5))
    memory.add_goal(Goal(description="Buy a plant", priority=1, status="completed"))
    lines = [
        "checkout is slow again",
        "the pool of pg-main is exhausted",
        "we raised max_connections",
        "checkout is fine",
    ]
    for number in range(2):
        for index, text in enumerate(lines):
            said = f"{text}, day {number}"
            memory.store_turn(Turn(conversation_id=f"inc-{number}", index=index, role="user", content=said))
    memory.learn_fact("checkout waits for pg-main", confidence=0.7)
    memory.upsert_entity(Entity(name="checkout", type="Service", description="takes orders"))
    memory.records.add("use a bigger pool for checkout", kind="decision", payload={"reason": "it was exhausted"})
    memory.working.clear_session()


@pytest.mark.requirement("T5", "P3", "C9")
def test_all_tiers_in_one_text(memory: AgentMemory) -> None:
    fill(memory)
    memory.working.set_active_goal("g1", "find out why checkout is slow")
    memory.working.push_thought("look at the pool")
    context = memory.assemble_context(TASK)
    assert context.chunks[0].source == "operational" and "look at the pool" in context.chunks[0].content
    assert [chunk.content for chunk in context.preferences] == ["git: merge style: rebase", "postgres: expert"]
    by_tier = {tier: [c for c in context.chunks if c.source == tier] for tier in ("working", "longterm", "knowledge")}
    assert {chunk.kind for chunk in by_tier["working"]} == {"goal", "decision"}
    assert {chunk.kind for chunk in by_tier["longterm"]} == {"turn"}
    assert {chunk.kind for chunk in by_tier["knowledge"]} == {"fact", "entity"}
    order = ["## Preferences", "## Now", "## Work in hand", "## What happened", "## What is known"]
    assert [context.text.index(heading) for heading in order] == sorted(context.text.index(one) for one in order)
    assert all(chunk.id in context.text for chunk in context.chunks if chunk.id)
    assert "because: it was exhausted" in context.text and "extraction 70%" in context.text
    assert 0 < context.total_tokens <= context.max_tokens == 4000


def test_kinds_and_where_things_belong_narrow_it(memory: AgentMemory) -> None:
    fill(memory)
    memory.records.add("checkout of billing is slow on Mondays", repository="acme/billing", conversation_id="c9")

    def kinds(**only: Any) -> list[str | None]:
        made = memory.assemble_context(TASK, **only)
        return sorted({chunk.kind for chunk in made.chunks if chunk.kind} | ({"user"} if made.preferences else set()))

    assert kinds(kinds=["decision", "fact"]) == ["decision", "fact"]
    assert kinds(kinds=["preference"]) == ["user"]
    assert kinds(kinds=["goal"], tiers=["knowledge"]) == []
    for where in ({"repository": "acme/billing"}, {"conversation_id": "c9"}):
        made = memory.assemble_context(TASK, **where)
        assert {chunk.kind for chunk in made.chunks} == {"goal", "observation"} and made.preferences
    with pytest.raises(NotFound, match="poem"):
        memory.assemble_context(TASK, kinds=["poem"])


@pytest.mark.requirement("C9")
def test_active_goals_are_there_however_far_from_the_task(memory: AgentMemory) -> None:
    fill(memory)
    context = memory.assemble_context("bread and butter", min_relevance=0.9)
    assert [chunk.content for chunk in context.chunks] == ["Move checkout to eu-2 (priority 5, active)"]
    assert {one.reason for one in context.left_out} == {"relevance"}


@pytest.mark.requirement("C9")
def test_three_turns_of_a_conversation_unless_asked(memory: AgentMemory) -> None:
    fill(memory)

    def turns(**bounds: int) -> list[int]:
        shown = memory.assemble_context(TASK, tiers=["longterm"], **bounds).chunks
        records = [memory.records.get(chunk.id) for chunk in shown]
        talks = [record.conversation_id for record in records]
        return sorted(talks.count(talk) for talk in set(talks))

    assert turns() == [3, 3]
    assert max(turns(per_conversation=0)) > 3
    assert turns(per_conversation=1) == [1, 1]
    left = memory.assemble_context(TASK, tiers=["longterm"]).left_out
    assert {one.reason for one in left} == {"conversation"}


@pytest.mark.local
@pytest.mark.requirement("T5")
@pytest.mark.parametrize("budget", [1, 2, 10, 30, 60, 100, 200, 400, 1000])
@pytest.mark.parametrize("counter", ["estimate", "wordpiece", len])
@pytest.mark.parametrize("format", ["markdown", "xml", "json"])
def test_the_budget_holds(memory: AgentMemory, budget: int, counter: object, format: str) -> None:
    fill(memory)
    context = memory.assemble_context(TASK, budget, counter=counter, format=format)
    assert context.total_tokens <= budget
    if callable(counter):
        assert context.total_tokens == counter(context.text) and context.counter == "function"


@pytest.mark.requirement("T5")
def test_the_caller_chooses_the_tiers(memory: AgentMemory) -> None:
    fill(memory)
    memory.working.push_thought("look at the pool")
    for tiers in (["knowledge"], ["operational"], ["working", "longterm"]):
        assert {chunk.source for chunk in memory.assemble_context(TASK, tiers=tiers).chunks} == set(tiers)
    assert memory.assemble_context(TASK, tiers=[]).chunks == []
    with pytest.raises(InvalidInput) as error:
        memory.assemble_context(TASK, tiers=["attic"])
    assert "tiers" in str(error.value.field)


def test_what_is_on_the_desk_is_not_shown_twice(memory: AgentMemory) -> None:
    memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content="checkout is slow"))
    context = memory.assemble_context(TASK)
    assert context.text.count("checkout is slow") == 1
    assert [one.reason for one in context.left_out] == ["repeat"]


@pytest.mark.requirement("P9", "T5")
def test_it_leaves_one_receipt_that_can_be_replayed(memory: AgentMemory) -> None:
    fill(memory)
    context = memory.assemble_context(TASK, 300)
    receipt = memory.receipts.get(context.receipt_id)["context"]
    assert receipt["total_tokens"] == context.total_tokens and receipt["max_tokens"] == 300
    assert [one["id"] for one in receipt["shown"]] == [c.id for c in (*context.preferences, *context.chunks)]
    assert {one["reason"] for one in receipt["left_out"]} >= {"budget", "conversation"}
    memory.learn_fact("checkout was slow because of the pool")
    assert memory.receipts.replay(context.receipt_id).identical


@pytest.mark.requirement("E4", "T5")
def test_only_what_is_shown_counts_as_accessed(memory: AgentMemory) -> None:
    names = [f"service {number}" for number in range(12)]
    ids = [memory.upsert_entity(Entity(name=name, type="Service", description="slow")).id for name in names]
    context = memory.assemble_context("service 3 is slow", 200)
    shown = {chunk.id for chunk in context.chunks}
    assert 0 < len(shown) < len(ids)
    memory.receipts.get(context.receipt_id)  # receipts, and the counts with them, may be a second late
    counts = {id: memory.semantic.get_entity(id).access_count for id in ids}
    assert counts == {id: int(id in shown) for id in ids}


def test_a_receipt_that_only_considered_a_record_goes_with_it(memory: AgentMemory) -> None:
    for number in range(12):
        memory.records.add(f"checkout was slow on day {number}", id=f"r{number}")
    context = memory.assemble_context("why was checkout slow?", 150)
    left = next(one.id for one in context.left_out if one.reason == "budget")
    memory.records.forget([left])
    with pytest.raises(NotFound):
        memory.receipts.get(context.receipt_id)


@pytest.mark.requirement("T5")
def test_as_of_a_moment(timed: AgentMemory, clock: object) -> None:
    timed.learn_fact("checkout runs on eu-1", subject="checkout", predicate="runs on")
    timed.user.set_preference("git", "merge style", "merge")
    then = clock.forward(hours=1)
    clock.forward(hours=1)
    timed.learn_fact("checkout runs on eu-2", subject="checkout", predicate="runs on")
    timed.user.set_preference("git", "merge style", "rebase")
    now, before = timed.assemble_context("where does checkout run?"), timed.assemble_context("where?", as_of=then)
    assert "eu-2" in now.text and "eu-1" not in now.text and "rebase" in now.text
    assert "eu-1" in before.text and "eu-2" not in before.text and "rebase" not in before.text


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": -5}, "max_tokens"),
        ({"counter": "tiktoken"}, "counter"),
        ({"counter": lambda text: 7}, "counter"),
        ({"format": "yaml"}, "format"),
        ({"per_conversation": -1}, "per_conversation"),
        ({"min_relevance": 2.0}, "min_relevance"),
    ],
)
def test_bad_input_names_the_field(memory: AgentMemory, arguments: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as error:
        memory.assemble_context(TASK, **arguments)
    assert field in str(error.value.field)


def test_an_empty_memory_gives_an_empty_text(memory: AgentMemory) -> None:
    context = memory.assemble_context(TASK)
    assert (context.text, context.total_tokens, context.chunks, context.left_out) == ("", 0, [], [])


def test_nobody_elses_memory(memory: AgentMemory) -> None:
    with AgentMemory(user_id="bob") as other:
        other.learn_fact("checkout is slow because of bob")
        other.user.set_preference("git", "merge style", "bobs")
        other.add_goal(Goal(description="bobs goal", priority=5))
    assert memory.assemble_context(TASK).text == ""
