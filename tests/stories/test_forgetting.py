"""What time takes of memories, and what it leaves: decay as things are read, archived conversations, pruning that can
be undone. C12, E4, E5, L11."""

from __future__ import annotations

from datetime import datetime, timedelta
from math import isclose, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.stories.test_transfer import lines, take

from agent_memory import AgentMemory
from agent_memory.models import Entity, Fact, Turn
from agent_memory.models.errors import InvalidInput, LeaseLost, NotFound

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
    return memory.store_turn(Turn(conversation_id=conversation, index=index, role="user", content=text, timestamp=when))


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


def jobs(memory: AgentMemory) -> dict[str, int]:
    """What `cleanup` did."""
    return memory.upkeep.run_jobs()["cleanup"]


def status(memory: AgentMemory, id: str) -> str:
    return str(memory.records.history(id)[-1].status)


def unimportant(memory: AgentMemory, text: str, importance: float = 0.05) -> str:
    return memory.records.add(text, importance=importance).id


@pytest.mark.requirement("E5")
def test_what_is_unimportant_old_and_not_accessed_is_listed_archived_and_restored(
    timed: AgentMemory, clock: SteppingClock
) -> None:
    dull = unimportant(timed, "The coffee was cold")
    kept = {
        "important": timed.records.add("The database moved").id,
        "accessed twice": unimportant(timed, "The lift is broken"),
        "pinned": unimportant(timed, "Parking place 14"),
        "supports a fact": unimportant(timed, "Ada said that she moved"),
    }
    for _ in range(2):
        timed.records.get(kept["accessed twice"])
    timed.upkeep.pin(kept["pinned"], reason="mine")
    timed.semantic.learn_fact("Ada moved", source="user_stated", source_turn_id=kept["supports a fact"])
    clock.forward(days=20)
    kept["young"] = unimportant(timed, "A young remark")
    assert timed.upkeep.prune().found == []
    clock.forward(days=11)
    seen = timed.upkeep.prune()
    assert seen.dry_run and [(one.id, one.until) for one in seen.found] == [(dull, None)]
    assert seen.found[0].why == "importance 0.05, 31 days old, 0 accesses"
    assert status(timed, dull) == "active"

    done = timed.upkeep.prune(dry_run=False)
    assert [one.id for one in done.found] == [dull] and done.archived == []
    assert status(timed, dull) == "archived" and dull not in [hit.id for hit in timed.recall("coffee")]
    line = timed.records.journal(id=dull)[-1]
    assert (line.actor, line.reason) == ("upkeep", "pruned: unimportant, old and hardly accessed")
    [waiting] = timed.upkeep.prune().archived
    assert (waiting.id, waiting.until) == (dull, clock.now() + timedelta(days=30))

    assert timed.upkeep.restore(dull).status == "active"
    assert timed.upkeep.prune().found == [] == timed.upkeep.prune().archived  # it is wanted
    clock.forward(days=31)
    assert dull in {one.id for one in timed.upkeep.prune().found}
    assert not {*kept.values()} - {kept["young"]} & {one.id for one in timed.upkeep.prune().found}


@pytest.mark.requirement("C12")
def test_entities_that_faded_and_that_no_fact_is_about_are_archived(timed: AgentMemory, clock: SteppingClock) -> None:
    known, faded, asked = (
        timed.upsert_entity(Entity(name=name, type="Person")).id for name in ("Known", "Faded", "Asked")
    )
    timed.semantic.learn_fact("Known likes tea", source="user_stated", entity_ids=[known])
    clock.forward(days=30)
    assert timed.upkeep.prune().found == []
    timed.semantic.get_entity(asked)
    clock.forward(days=10)
    [found] = timed.upkeep.prune().found
    assert (found.id, found.why) == (faded, "salience 0.06, untouched for 40 days, no facts")
    assert timed.upkeep.run_jobs()["decay"] == {"entities": 2, "facts": 0}


@pytest.mark.requirement("L11")
def test_what_was_pruned_is_removed_after_its_grace_and_nothing_else_is(
    timed: AgentMemory, clock: SteppingClock
) -> None:
    dull, rescued, late = (unimportant(timed, text) for text in ("Cold coffee", "A useful remark", "Pinned too late"))
    others = [unimportant(timed, "Merged into another", 0.05), timed.records.add("Archived by hand").id]
    for id in others:
        timed.records.amend(id, status="archived", reason="merged")
    clock.forward(days=31)
    assert jobs(timed)["archived"] == 3
    assert jobs(timed) == {"conversations": 0, "archived": 0, "removed": 0}  # twice is once
    timed.upkeep.restore(rescued)
    timed.upkeep.pin(late)
    for _ in range(29):
        clock.forward(days=1)
        assert jobs(timed)["removed"] == 0
    clock.forward(days=1)
    assert jobs(timed)["removed"] == 1
    with pytest.raises(NotFound):
        timed.records.history(dull)
    assert [status(timed, one) for one in (rescued, late, *others)] == ["active", "archived", "archived", "archived"]
    erased = [line for line in timed.records.journal(limit=1000) if line.operation == "erase"]
    assert [(line.actor, line.reason) for line in erased] == [("upkeep", "retention")]
    assert timed.upkeep.verify().ok


@pytest.mark.requirement("L11")
def test_a_clock_that_jumps_removes_nothing_until_a_later_run_agrees(timed: AgentMemory, clock: SteppingClock) -> None:
    dull = unimportant(timed, "The coffee was cold")
    clock.forward(days=31)
    timed.upkeep.prune(dry_run=False)
    jobs(timed)
    clock.forward(days=1)
    jobs(timed)
    clock.forward(days=400)
    assert jobs(timed)["removed"] == 0
    assert jobs(timed)["removed"] == 0  # the same day proves nothing
    clock.forward(days=-400)  # it was wrong
    assert jobs(timed)["removed"] == 0
    clock.forward(days=1)
    assert jobs(timed)["removed"] == 0 and timed.upkeep.restore(dull)
    timed.records.amend(dull, importance=0.04)
    clock.forward(days=31)
    timed.upkeep.prune(dry_run=False)
    clock.forward(days=400)
    assert jobs(timed)["removed"] == 0
    clock.forward(days=1)
    assert jobs(timed)["removed"] == 1


@pytest.mark.requirement("C12")
def test_conversations_past_their_retention_are_archived_unless_pinned(
    timed: AgentMemory, clock: SteppingClock
) -> None:
    for name in ("quiet", "pinned", "with a pinned turn", "restored"):
        turn = say(timed, name, 0, f"The failover of {name}", clock.now())
    say(timed, "alive", 0, "The failover is alive", clock.now())
    ids = {one.conversation_id: one.id for one in timed.episodic.conversations()}
    timed.upkeep.pin(ids["pinned"])
    timed.upkeep.pin(timed.episodic.get_conversation("with a pinned turn")[0].id)
    clock.forward(days=60)
    say(timed, "alive", 1, "Still", clock.now())
    clock.forward(days=31)
    seen = [(one.id, one.why, one.until) for one in timed.upkeep.prune().found]
    assert seen == [(ids[name], "no turn for 91 days", None) for name in ("restored", "quiet")]
    assert jobs(timed)["conversations"] == 2
    assert jobs(timed)["conversations"] == 0
    live = {one.conversation_id for one in timed.episodic.conversations()}
    assert live == {"pinned", "with a pinned turn", "alive"}
    timed.upkeep.restore(ids["restored"])
    clock.forward(days=1)
    assert jobs(timed)["conversations"] == 0 and timed.upkeep.prune().found == []
    assert turn.id in [one.id for one in timed.records.find(kind="turn")]
    timed.episodic.append("quiet", "user", "And again")
    assert "quiet" in {one.conversation_id for one in timed.episodic.conversations()}
    clock.forward(days=91)
    done = {one.id for one in timed.upkeep.prune(dry_run=False).found}
    assert done == {ids["quiet"], ids["restored"], ids["alive"]}
    assert {one.conversation_id for one in timed.episodic.conversations()} == {"pinned", "with a pinned turn"}


@pytest.mark.requirement("L11")
def test_a_pin_stands_for_what_it_pins_and_keeps_its_reason(timed: AgentMemory) -> None:
    note = timed.records.add("Parking place 14").id
    pin = timed.upkeep.pin(note, reason="mine")
    again = timed.upkeep.pin(pin.id)  # what was written last, when somebody pins twice
    assert (again.id, again.record_id, again.reason) == (pin.id, note, "mine")
    assert timed.upkeep.pin(note, reason="ours").reason == "ours"
    assert timed.upkeep.unpin(pin.id) and timed.upkeep.pins() == []
    assert timed.upkeep.pin(note).reason is None


@pytest.mark.requirement("L11")
def test_pins_are_seen_and_taken_away(timed: AgentMemory) -> None:
    note = timed.records.add("Parking place 14").id
    pin = timed.upkeep.pin(note, reason="mine")
    assert timed.upkeep.pins() == [pin] and (pin.record_id, pin.reason) == (note, "mine")
    assert timed.upkeep.pin(note, reason="mine").id == pin.id
    assert timed.upkeep.unpin(note) and not timed.upkeep.unpin(note)
    assert timed.upkeep.pins() == []
    assert timed.upkeep.pin(note).record_id == note
    for call in (timed.upkeep.pin, timed.upkeep.restore):
        with pytest.raises(NotFound):
            call("nobody")
    with pytest.raises(InvalidInput, match="was not archived by upkeep"):
        timed.upkeep.restore(note)
    timed.records.forget([note])
    assert timed.upkeep.pins() == []  # it goes with what it protects


@pytest.mark.local
@pytest.mark.requirement("C11")
def test_a_cleanup_that_is_killed_goes_on_where_it_was(
    timed: AgentMemory, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    dull = [{"text": f"remark {number}", "importance": 0.01} for number in range(250)]
    timed.records.add_many(dull)
    clock.forward(days=31)
    records, left = type(timed._client.runtime.store.records), [1]
    apply = records.apply

    def dies(self: object, *args: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise LeaseLost("killed")
        return apply(self, *args, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch, pytest.raises(LeaseLost):
        patch.setattr(records, "apply", dies)
        timed.upkeep.run_jobs()
    before = len(timed.records.find(status="archived", limit=1000))
    assert 0 < before < 250
    assert jobs(timed)["archived"] == 250 - before
    assert {len(timed.records.history(one.id)) for one in timed.records.find(status="archived", limit=1000)} == {2}


@pytest.mark.local
@pytest.mark.requirement("L11")
def test_pins_and_archived_conversations_move_with_the_memory(
    timed: AgentMemory, clock: SteppingClock, tmp_path: Path
) -> None:
    dull = unimportant(timed, "Parking place 14")
    timed.upkeep.pin(dull, reason="mine")
    say(timed, "old", 0, "The failover takes a minute", clock.now())
    clock.forward(days=100)
    assert jobs(timed)["conversations"] == 1
    said = lines(timed)
    with AgentMemory("ada", store=tmp_path / "copy.db", clock=clock) as copy:
        take(copy, said)
        assert [(one.record_id, one.reason) for one in copy.upkeep.pins()] == [(dull, "mine")]
        assert copy.episodic.conversations() == [] and copy.recall("failover")[0].archived
        assert copy.upkeep.prune().found == []


@pytest.mark.requirement("L11")
@pytest.mark.parametrize("shared", [False, True])
def test_an_entity_stays_whose_facts_somebody_else_has(home: Path, clock: SteppingClock, shared: bool) -> None:
    """An agent of the user has them, or a user has facts about what all users share."""
    known = AgentMemory("*" if shared else "ada", shared=shared, clock=clock)
    reader = AgentMemory("ada", agent="*" if shared else "scout", clock=clock)
    with known, reader:
        billing = known.upsert_entity(Entity(name="billing", type="service")).id
        fact = reader.semantic.learn_fact("billing listens on port 80", entity_ids=[billing])
        clock.forward(days=200)
        assert known.upkeep.prune().found == []
        clock.forward(days=1)
        known.upkeep.run_jobs()
        assert known.records.get(billing).status == "active"
        assert [one.target_id for one in reader.records.links(fact.id)] == [billing]
