"""Rather nothing than something that does not fit: what a reader of `relevance` can count on."""

from __future__ import annotations

import pytest

from agent_memory import AgentMemory
from agent_memory.models.recipe import DEFAULT, Recipe

FLOOR = 0.4  # what docs/guides/recall.md recommends
TEXTS = [
    "checkout was slow because the connection pool was exhausted",
    "the coffee machine on floor three is broken",
    "the certificate of the portal expires on 12 October",
    "Marcus keeps spare disks in the grey box on top of rack 3",
    "deployments happen between ten and three, Monday to Thursday",
]
FITTING = {
    "why was checkout slow?": 0,
    "when does the portal's certificate run out?": 2,
    "where are the spare disks?": 3,
}
ALIEN = ["how do I bake bread?", "who won the chess tournament in Oslo?", "which visa does my sister need for Japan?"]


@pytest.mark.parametrize("size", [1, 5, 60])
def test_what_fits_is_found_and_what_does_not_is_not(memory: AgentMemory, size: int) -> None:
    """A store of one, of five and of sixty: the same floor."""
    texts = [*TEXTS, *(f"ticket {n}: rotated the logs of host {n}" for n in range(100, 155))]
    memory.records.add_many([{"text": text} for text in texts[:size]])
    for question, place in FITTING.items():
        if place < size:
            assert memory.recall(question, min_relevance=FLOOR).hits[0].text == TEXTS[place]
    for question in ALIEN:
        assert memory.recall(question, min_relevance=FLOOR).hits == [], question


def test_without_vectors_the_words_decide(memory: AgentMemory) -> None:
    memory.records.add_many([{"text": text} for text in TEXTS])
    words = Recipe(name="words", vectors=0)
    assert [hit.text for hit in memory.recall("spare disks", recipe=words, min_relevance=FLOOR)] == [TEXTS[3]]
    assert memory.recall("how do I bake bread?", recipe=words, min_relevance=FLOOR).hits == []


def test_a_code_that_was_never_seen(memory: AgentMemory) -> None:
    memory.records.add("E-4410 on a scanner means that its connection is stale: send scanctl reconnect")
    known = memory.recall("What does E-4410 mean on a scanner?")[0]
    unknown = memory.recall("What does E-4490 mean on a scanner?")[0]
    assert known.relevance > 0.8 > FLOOR > unknown.relevance


def test_a_floor_leaves_out_and_does_not_reorder(memory: AgentMemory) -> None:
    memory.records.add_many([{"text": text} for text in TEXTS])
    question = "why was checkout slow on Monday?"
    everything = memory.recall(question, recipe=DEFAULT)
    above = [hit.id for hit in everything if hit.relevance >= FLOOR]
    assert [hit.id for hit in memory.recall(question, min_relevance=FLOOR)] == above
    assert 0 < len(above) < len(everything)


def test_an_empty_store_has_nothing_to_judge(memory: AgentMemory) -> None:
    assert memory.recall("why was checkout slow?", min_relevance=FLOOR).hits == []
