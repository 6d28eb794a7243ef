"""Forgetting is physical: after it, no byte of the store holds what was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_memory import AgentMemory
from agent_memory.models import Entity, Turn
from agent_memory.models.errors import NotFound

SECRET = "zanzibar-9931-passphrase"


def bytes_of(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())


def test_nothing_is_left_of_what_was_forgotten(memory: AgentMemory, home: Path) -> None:
    kept = memory.records.add("the coffee machine is on the third floor")
    turn = memory.store_turn(
        Turn(
            conversation_id="secret talks", index=0, role="user", content=f"my code is {SECRET}", metadata={"k": SECRET}
        )
    )
    memory.episodic.store_turn(turn.model_copy(update={"content": f"my code was {SECRET}"}))
    memory.recall(SECRET)
    assert SECRET.encode() in bytes_of(home)
    gone = memory.records.forget([turn.id], reason="asked to")
    assert gone.ids == [turn.id] and gone.scrubbed
    assert SECRET.encode() not in bytes_of(home)
    assert b"secret talks" not in bytes_of(home)
    assert memory.recall("code passphrase", kinds=["turn"]).hits == []
    assert memory.get_working_context()["recent_turns"] == []
    with pytest.raises(NotFound):
        memory.records.get(turn.id)
    with pytest.raises(NotFound):
        memory.records.history(turn.id)
    assert memory.records.get(kept.id).text.startswith("the coffee")
    lines = memory.records.journal()
    assert [line.operation for line in lines][-1] == "erase" and lines[-1].reason == "asked to"
    proof = memory.upkeep.verify()
    assert proof.ok, proof.problems


def test_what_was_derived_from_it_alone_goes_too(memory: AgentMemory) -> None:
    one = memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content="I am allergic to nuts"))
    two = memory.store_turn(Turn(conversation_id="c1", index=1, role="user", content="nuts make me sick"))
    ada = memory.upsert_entity(Entity(name="Ada", type="Person"))
    alone = memory.learn_fact("Ada has an allergy", source_turn_id=one.id, entity_ids=[ada.id])
    both = memory.learn_fact("Ada avoids nuts", source_turn_id=one.id)
    memory.learn_fact("Ada avoids nuts", source_turn_id=two.id)
    memory.records.forget([one.id])
    assert [fact.id for fact in memory.records.find("fact")] == [both.id]
    assert memory.semantic.get_entity_graph([ada.id])["facts"] == []
    assert alone.id not in [hit.id for hit in memory.recall("allergy")]
    assert memory.upkeep.verify().ok


def test_forgetting_something_unknown_changes_nothing(memory: AgentMemory) -> None:
    kept = memory.records.add("stays")
    with pytest.raises(NotFound):
        memory.records.forget([kept.id, "no-such-record"])
    assert memory.records.get(kept.id).text == "stays"


def test_others_forget_nothing_of_mine(memory: AgentMemory) -> None:
    mine = memory.records.add("mine alone")
    with AgentMemory(user_id="eve") as eve, pytest.raises(NotFound):
        eve.records.forget([mine.id])
    assert memory.records.get(mine.id).text == "mine alone"


def test_a_second_process_sees_it_go(memory: AgentMemory, home: Path) -> None:
    """Two runtimes on one file stand for two processes: each has caches of its own."""
    from agent_memory.app import config, wiring
    from agent_memory.app.client import Client
    from agent_memory.app.namespaces import Retriever

    id = memory.records.add("the moose is loose").id
    other = wiring.build(config.load(), memory._client.runtime.embedding.embedder)
    there = Retriever(Client(other, memory._client.scope, memory._client.clock, None))
    assert [hit.id for hit in there.recall("moose")] == [id]
    memory.records.forget([id])
    assert there.recall("moose").hits == []
    other.receipts.flush()
    other.store.close()
