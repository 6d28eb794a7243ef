"""What a recall shows of what it found: repeats become one hit. C9."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory import AgentMemory
from agent_memory.models import Turn
from agent_memory.models.errors import NotFound
from agent_memory.models.recipe import BUNDLE, CONTEXT, DEFAULT, Recipe

COLLAPSE = Recipe(name="collapse", collapse=True)
QUESTION = "which port does staging listen on?"


def ids(found: object) -> list[str]:
    return [hit.id for hit in found]


@pytest.mark.requirement("C9")
def test_repeats_become_one_hit_that_names_the_others(memory: AgentMemory) -> None:
    for number, text in enumerate(["Staging listens on port 5433", "staging listens on port 5433.", "Lunch is at one"]):
        memory.records.add(text, id=f"r{number}", valid_from=datetime(2026, 1, 1 + number, tzinfo=UTC))
    memory.records.add("Staging listens on port 5432", id="other")
    plain = memory.recall(QUESTION)
    assert len(plain) == 4 and all(hit.repeats == [] for hit in plain), "the default shows everything"
    found = memory.recall(QUESTION, recipe=COLLAPSE)
    assert sorted(ids(found)) == ["other", "r1", "r2"]
    (hit,) = [hit for hit in found if hit.id == "r1"]
    assert hit.repeats == ["r0"], "of equals the newest"
    assert abs(sum(hit.why.channels.values()) - hit.score) < 1e-3
    assert hit.score == max(one.score for one in plain if one.id in ("r0", "r1")), "at the place of the best"


def test_the_fullest_is_shown_at_the_place_of_the_best(memory: AgentMemory) -> None:
    memory.records.add("Staging listens on port 5433. Ann moved it on Friday.", id="full")
    memory.records.add("Staging listens on port 5433.", id="short")
    memory.records.add("Staging has a port for debugging, too.", id="else")
    short = memory.recall("staging listens on port 5433")[0]
    assert short.id == "short"
    best = memory.recall("staging listens on port 5433", recipe=COLLAPSE)[0]
    assert (best.id, best.repeats, best.score) == ("full", ["short"], short.score)
    assert best.why.channels["repeats"] > 0


def test_who_says_it_and_what_it_carries_count(memory: AgentMemory) -> None:
    for index, speaker in enumerate(["Ann", "Bob", "Ann"]):
        content = "I moved to Berlin"
        memory.store_turn(Turn(conversation_id="c1", index=index, role="user", speaker=speaker, content=content))
    memory.records.add("I moved to Berlin", id="observation")
    found = memory.recall("Berlin", recipe=COLLAPSE)
    assert sorted(hit.record.payload.get("speaker", "") for hit in found) == ["", "Ann", "Bob"]
    memory.records.add("disk is full", payload={"host": "web-01"})
    memory.records.add("disk is full", payload={"host": "web-02"})
    memory.records.add("disk is full", payload={"host": "web-02"})
    full = memory.recall("disk", recipe=COLLAPSE, kinds=["observation"], min_relevance=0.2)
    assert sorted(hit.record.payload["host"] for hit in full) == ["web-01", "web-02"]


def test_a_thousand_repeats_do_not_crowd_out_the_rest(memory: AgentMemory) -> None:
    memory.records.add_many([{"text": "heartbeat of checkout is ok", "id": f"beat{n}"} for n in range(1000)])
    memory.records.add("heartbeat of payments is late", id="late")
    found = memory.recall("is the heartbeat of checkout ok?", recipe=COLLAPSE)
    assert len(found) == 2 and found[1].id == "late"
    assert len(found[0].repeats) == COLLAPSE.head - 1, "those among the head are named"


@pytest.mark.requirement("C9", "C10")
def test_remember_shows_no_repeats(memory: AgentMemory) -> None:
    for index in range(4):
        memory.store_turn(Turn(conversation_id=f"c{index}", index=0, role="user", content="Staging is on port 5433"))
    memory.learn_fact("staging is on port 5433")
    memory.learn_fact("Staging is on port 5433.")
    bundle = memory.remember("staging port")
    assert [turn["repeats"] for turn in bundle.relevant_turns] == [3]
    assert [fact["repeats"] for fact in bundle.facts] == [1]


@pytest.mark.requirement("T5")
def test_a_context_shows_no_repeats_and_says_so(memory: AgentMemory) -> None:
    memory.records.add("Staging is on port 5433.", id="old", valid_from=datetime(2026, 1, 1, tzinfo=UTC))
    memory.records.add("staging is on  port 5433", id="new")
    context = memory.assemble_context("which port is staging on?")
    assert [chunk.id for chunk in context.chunks] == ["new"]
    assert [(one.id, one.reason) for one in context.left_out] == [("old", "repeat")]


def test_a_replay_collapses_as_it_did(timed: AgentMemory, clock: object) -> None:
    for number in range(3):
        timed.records.add("staging listens on port 5433", id=f"r{number}")
    found = timed.recall(QUESTION, recipe=COLLAPSE)
    clock.forward(hours=1)
    timed.records.add("Staging listens on port 5433!", id="later")
    assert timed.receipts.replay(found.receipt_id).identical
    assert not timed.receipts.replay(found.receipt_id, now=True).identical


@pytest.mark.requirement("P9")
def test_a_trace_names_repeats_and_forgetting_one_takes_the_receipt(memory: AgentMemory) -> None:
    for number in range(3):
        memory.records.add("staging listens on port 5433", id=f"r{number}")
    memory.records.add("lunch is at one", id="far")
    found = memory.recall(QUESTION, 1, COLLAPSE, trace=True)
    assert {one.id: one.reason for one in found.trace.left_out} == {"r0": "repeat", "r1": "repeat", "far": "k"}
    told = memory.recall(QUESTION, 1, COLLAPSE).receipt_id
    memory.records.forget(["r0"])
    with pytest.raises(NotFound):
        memory.receipts.get(told)


WORDS = st.sampled_from("the port of staging is 5432 5433 not Ann. Bob. restart? deploy failed".split())
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), min_size=1, max_size=25)
RECIPES = st.sampled_from(
    [BUNDLE, CONTEXT, COLLAPSE, Recipe(collapse=True, head=3), Recipe(diversity=0.6, head=7), Recipe(diversity=0.2)]
)


class Still:
    def now(self) -> datetime:
        return datetime(2026, 3, 2, tzinfo=UTC)


@settings(max_examples=30, deadline=None)
@given(texts=TEXTS, recipe=RECIPES, small=st.integers(1, 9), large=st.integers(10, 30))
def test_the_first_are_the_first_of_more(texts: list[str], recipe: Recipe, small: int, large: int) -> None:
    with AgentMemory(user_id="ada", store="memory://", clock=Still()) as memory:  # recency counts, too
        memory.records.add_many([{"text": text} for text in texts])
        few = memory.recall("is the port of staging 5433?", small, recipe)
        many = memory.recall("is the port of staging 5433?", large, recipe)
        assert few.hits == many.hits[:small]
        scores = [hit.score for hit in many]
        assert scores == sorted(scores, reverse=True)
        everything = {hit.id for hit in memory.recall("is the port of staging 5433?", 30, DEFAULT)}
        told = [id for hit in many for id in (hit.id, *hit.repeats)]
        assert len(told) == len(set(told)) and set(told) <= everything
        if recipe.head >= len(texts) and len(many) < large and not recipe.per_conversation:
            assert set(told) == everything, "nothing is lost"


ROLLBACK = "the deploy of checkout failed and was rolled back by Ann"
NEAR = [
    ROLLBACK,
    f"{ROLLBACK} again",
    f"{ROLLBACK} on Friday",
    f"{ROLLBACK} at noon",
    "checkout was slow: pool exhausted",
]


@pytest.mark.requirement("C9")
def test_diversity_brings_what_differs_forward(memory: AgentMemory) -> None:
    for text in [*NEAR, "lunch is at one", "the coffee machine is broken"]:
        memory.records.add(text)
    plain = memory.recall("what happened to the deploy of checkout?", recipe=DEFAULT)
    assert plain[4].text == NEAR[-1], "the same event four times before the other"
    found = memory.recall("what happened to the deploy of checkout?", recipe=Recipe(diversity=0.5))
    assert found[0].id == plain[0].id, "the best stays the best"
    assert found[1].text == NEAR[-1]
    assert sorted(ids(found)) == sorted(ids(plain)), "nothing is lost"
    assert "diversity" not in found[0].why.channels and found[-1].why.channels["diversity"] < 0
    for hit in found:
        assert abs(sum(hit.why.channels.values()) - hit.score) < 1e-3
    little = memory.recall("what happened to the deploy of checkout?", recipe=Recipe(diversity=0.001))
    assert ids(little) == ids(plain)


def test_what_ranks_below_the_head_stays_below(memory: AgentMemory) -> None:
    for text in [*NEAR, "lunch is at one"]:
        memory.records.add(text)
    plain = memory.recall("the deploy of checkout was rolled back by Ann", recipe=DEFAULT)
    found = memory.recall("the deploy of checkout was rolled back by Ann", recipe=Recipe(diversity=0.9, head=3))
    assert ids(found)[3:] == ids(plain)[3:]
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True) and scores[3] < plain[3].score


def test_what_is_not_shown_pushes_nobody_away(memory: AgentMemory) -> None:
    for number, text in enumerate([ROLLBACK, f"{ROLLBACK} again", f"{ROLLBACK} by hand"]):
        talk = "c1" if number < 2 else "c2"
        memory.store_turn(Turn(conversation_id=talk, index=number, role="user", content=text))
    one = memory.recall(ROLLBACK, recipe=Recipe(diversity=0.5, per_conversation=1))
    assert len(one) == 2
    memory.records.forget([hit.id for hit in memory.recall("again") if hit.text.endswith("again")])
    two = memory.recall(ROLLBACK, recipe=Recipe(diversity=0.5, per_conversation=1))
    assert ids(one) == ids(two)


def test_a_replay_is_as_diverse_as_it_was(timed: AgentMemory, clock: object) -> None:
    for text in NEAR:
        timed.records.add(text)
    found = timed.recall("deploy of checkout", recipe=Recipe(diversity=0.3))
    clock.forward(hours=1)
    timed.records.add("the deploy of checkout is fine")
    assert timed.receipts.replay(found.receipt_id).identical
