"""What time takes of memories, and what it leaves: decay as things are read, archived conversations, pruning that can be
undone. C12, E4, E5, L11."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import isclose, sqrt
from typing import TYPE_CHECKING

import pytest

from agent_memory import AgentMemory
from agent_memory.models import Entity, Fact, Turn

if TYPE_CHECKING:
    from tests.conftest import SteppingClock


def accesses(memory: AgentMemory, id: str) -> int | None:
    return memory.receipts.accesses([id])[0].times


@pytest.mark.requirement("C12")
def test_the_salience_of_who_is_not_accessed_fades_and_comes_back(timed: AgentMemory, clock: SteppingClock) -> None:
    ada = timed.upsert_entity(Entity(name="Ada", type="Person", salience=0.8))
    clock.forward(hours=23)
    assert timed.semantic.get_entity(ada.id).salience == 0.8
    timed.receipts.accesses([ada.id])  # what waits is written
    clock.forward(days=10)
    read = timed.semantic.get_entity(ada.id)
    assert isclose(read.salience, 0.8 * 0.95**10) and read.stored_salience == 0.8
    assert timed.records.get(ada.id).importance == 0.8
    timed.receipts.accesses([ada.id])
    assert timed.semantic.get_entity(ada.id).salience == 0.8  # it was asked for a moment ago


@pytest.mark.requirement("C12")
def test_it_fades_wherever_entities_are_read(timed: AgentMemory, clock: SteppingClock) -> None:
    ada = timed.upsert_entity(Entity(name="Ada", type="Person", salience=0.8))
    bob = timed.upsert_entity(Entity(name="Bob", type="Person", salience=0.6))
    timed.semantic.create_relationship(ada.id, bob.id, "KNOWS")
    then = clock.forward(days=4)
    clock.forward(days=16)
    graph = timed.semantic.get_entity_graph([ada.id])
    assert isclose(graph["entities"][0]["salience"], 0.8 * 0.95**20)
    [near] = graph["related"]
    assert isclose(near["entity"]["salience"], 0.6 * 0.95**20) and near["entity"]["stored_salience"] == 0.6
    before = timed.semantic.get_entity_graph([ada.id], as_of=then)
    assert isclose(before["entities"][0]["salience"], 0.8 * 0.95**4)
    [hit] = timed.remember("Who is Ada?", top_k=1).entities
    assert isclose(hit["salience"], 0.8 * 0.95**20) and hit["stored_salience"] == 0.8
    assert accesses(timed, ada.id) == 1
    [hit] = timed.remember("Who is Ada?", top_k=1).entities
    assert hit["salience"] == 0.8


@pytest.mark.requirement("C12")
def test_inferred_facts_fade_after_a_week_and_stated_ones_do_not(timed: AgentMemory, clock: SteppingClock) -> None:
    begun = clock.now()
    for claim, source in (("Ada likes tea", "inferred"), ("Ada likes rye", "user_stated")):
        timed.semantic.store_fact(Fact(claim=claim, source=source, confidence=0.9, created_at=begun))
    clock.forward(days=7)
    assert [one["confidence"] for one in timed.remember("What does Ada like?").facts] == [0.9, 0.9]
    clock.forward(days=10)
    told = {one["source"]: one for one in timed.remember("What does Ada like?").facts}
    assert isclose(told["inferred"]["confidence"], 0.9 * sqrt(0.95) ** 10)
    assert told["inferred"]["stored_confidence"] == told["user_stated"]["confidence"] == 0.9
    kept = timed.recall("What does Ada like?", kinds=["fact"], min_confidence=0.85)
    assert len(kept) == 2  # what is asked of what is stored


@pytest.mark.requirement("C12")
def test_what_was_read_and_is_written_back_keeps_what_is_stored(timed: AgentMemory, clock: SteppingClock) -> None:
    ada = timed.upsert_entity(Entity(name="Ada", type="Person", salience=0.8))
    clock.forward(days=30)
    read = timed.semantic.get_entity(ada.id)
    assert read.salience < 0.2
    timed.upsert_entity(read.model_copy(update={"description": "an engineer"}))
    assert timed.records.get(ada.id).importance == 0.8
    clock.forward(days=30)
    read = timed.semantic.get_entity(ada.id)
    timed.upsert_entity(read.model_copy(update={"salience": 0.4}))  # what somebody changed counts
    assert timed.records.get(ada.id).importance == 0.4
    fact = timed.semantic.store_fact(
        Fact(claim="Ada likes tea", source="inferred", confidence=0.9, created_at=clock.now())
    )
    record = timed.records.get(fact.id)
    timed.semantic.store_fact(
        Fact(
            claim="Ada likes tea",
            source="inferred",
            created_at=record.valid_from,
            confidence=0.9 * sqrt(0.95) ** 5,
            stored_confidence=0.9,
        )
    )
    assert timed.records.get(fact.id).confidence == 0.9


@pytest.mark.requirement("E4")
def test_a_hit_and_a_get_are_accesses_and_lists_exports_and_jobs_are_none(timed: AgentMemory) -> None:
    note = timed.records.add("The deploy of Tuesday failed")
    timed.records.find()
    timed.records.versions()
    timed.records.history(note.id)
    timed.upkeep.why(note.id)
    assert accesses(timed, note.id) == 0
    timed.records.get(note.id)
    assert accesses(timed, note.id) == 1
    assert note.id in [hit.id for hit in timed.recall("which deploy failed?")]
    assert accesses(timed, note.id) == 2
    keyed = timed.records.add("Ada's desk", key="desk")
    timed.records.lookup("observation", "desk")
    assert accesses(timed, keyed.id) == 1
    assert all(one.hits for one in timed.receipts.find())  # a get leaves no receipt


def say(memory: AgentMemory, conversation: str, index: int, text: str, when: datetime) -> Turn:
    return memory.store_turn(
        Turn(conversation_id=conversation, index=index, role="user", content=text, timestamp=when)
    )


@pytest.mark.requirement("C12")
def test_turns_of_an_archived_conversation_are_recalled_and_not_listed(
    timed: AgentMemory, clock: SteppingClock
) -> None:
    cold = say(timed, "old", 0, "The failover takes a minute", clock.now())
    warm = say(timed, "new", 0, "The failover takes an hour", clock.now())
    timed.episodic.update_conversation("old", archived=True)
    found = {hit.id: hit for hit in timed.recall("How long does the failover take?")}
    assert found[cold.id].archived and not found[warm.id].archived
    assert "recency" not in found[cold.id].why.channels and found[warm.id].why.channels["recency"] > 0
    assert [one.id for one in timed.records.find(kind="turn")] == [warm.id]
    assert [one.id for one in timed.records.find(kind="turn", limit=1, oldest_first=True)] == [warm.id]
    assert [one["id"] for one in timed.episodic.get_recent_turns()] == [warm.id]
    assert [one.conversation_id for one in timed.episodic.conversations()] == ["new"]
    assert {one.conversation_id for one in timed.episodic.conversations(archived=None)} == {"old", "new"}
    assert [one.id for one in timed.records.find(kind="turn", conversation_id="old")] == [cold.id]
    assert [one.id for one in timed.episodic.get_conversation("old")] == [cold.id]
    told = {one["id"]: one["archived"] for one in timed.remember("How long does the failover take?").relevant_turns}
    assert told == {cold.id: True, warm.id: False}
    assert timed.receipts.replay(timed.recall("failover").receipt_id).identical


@pytest.mark.requirement("C12")
def test_a_new_turn_makes_a_conversation_live_again(timed: AgentMemory, clock: SteppingClock) -> None:
    begun = clock.now()
    say(timed, "old", 0, "The failover takes a minute", begun)
    clock.forward(days=1)
    timed.episodic.update_conversation("old", archived=True)
    say(timed, "old", 1, "It was said before it was archived", begun + timedelta(minutes=1))
    assert timed.episodic.conversations() == []
    timed.episodic.append("old", "user", "And now it takes two")
    assert [one.archived for one in timed.episodic.conversations()] == [False]
    assert len(timed.records.find(kind="turn")) == 3
