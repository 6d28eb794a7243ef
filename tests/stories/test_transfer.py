"""A memory moves: what is exported and taken in by an empty store answers the same, now and at every moment of valid
time. What a store once believed, and when it came to know it, stays with its journal."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_json

from agent_memory import AgentMemory
from agent_memory.app import config
from agent_memory.app.service import CallerClaim, Service
from agent_memory.app.transfer import Import, exported
from agent_memory.models import Entity, Goal, Link, Turn
from agent_memory.models.graph import Edge, Node
from agent_memory.models.record import Status

NEW = {"seq", "recorded_at", "recorded_to", "version", "scope"}


@pytest.fixture
def other(tmp_path: Path) -> Path:
    return tmp_path / "other.db"


def lines(memory: AgentMemory) -> list[bytes]:
    pages = exported(_calling(memory), memory.user_id, {})
    return [to_json(one) for page in pages for one in page]


def take(memory: AgentMemory, said: list[bytes]) -> dict[str, int]:
    taken = Import(_calling(memory))
    taken.take(said)
    return taken.effects


def _calling(memory: AgentMemory) -> Callable[[str, dict[str, Any]], Any]:
    return lambda name, given: attrgetter(name)(memory)(**given)


def a_life(memory: AgentMemory, clock: Any) -> list[datetime]:
    """Everything that can be lost on the way; gives the moments at which things were different."""
    moments = [clock.now()]
    memory.user.set_preference("git", "style", "merge")
    memory.learn_fact("Ada lives in Berlin", subject="Ada", predicate="lives in")
    over = memory.records.add("The office is in Ghent", id="office").id
    memory.records.add("mistyped", id="typo")
    memory.records.edit("typo", "typed right")
    ada = memory.upsert_entity(Entity(name="Ada", type="Person", description="an engineer", first_seen=clock.now()))
    acme = memory.upsert_entity(Entity(name="Acme", type="Organization", first_seen=clock.now()))
    memory.semantic.create_relationship(ada.id, acme.id, "WORKS_FOR", {"since": 2020})
    memory.records.link(Link(source_id=over, target_id=acme.id, type="ABOUT", weight=0.5))
    memory.graph.create_entities(
        [Node(name=name, entity_type="tool", observations=[f"{name} is old"]) for name in "xy"]
    )
    memory.graph.create_relations([Edge(source="y", target="x", relation_type="needs")])
    for index in range(3):
        memory.store_turn(
            Turn(conversation_id="c1", index=index, role="user", content=f"turn {index}", timestamp=clock.now())
        )
    moments.append(clock.forward(days=1))
    clock.forward(days=1)
    memory.user.set_preference("git", "style", "rebase")
    memory.learn_fact("Ada lives in Lisbon", subject="Ada", predicate="lives in")
    memory.records.amend(over, valid_to=clock.now())
    memory.records.unlink(ada.id, acme.id, "WORKS_FOR")
    memory.semantic.create_relationship(ada.id, acme.id, "FOUNDED")
    memory.add_goal(Goal(description="ship it", created_at=clock.now()))
    memory.records.add("put away", status=Status.ARCHIVED)
    memory.records.add("deploys move to Tuesday", valid_from=clock.forward(days=30))
    clock.forward(days=-29)
    return [*moments, clock.now(), clock.now().replace(year=2030)]


def without(found: Any, name: str) -> Any:
    if isinstance(found, dict):
        return {key: without(value, name) for key, value in found.items() if key != name}
    return [without(one, name) for one in found] if isinstance(found, list) else found


def answers(memory: AgentMemory, moments: list[datetime]) -> dict[str, Any]:
    def plain(found: list[Any]) -> list[Any]:
        return sorted((one.model_dump(mode="json", exclude=NEW) for one in found), key=str)

    records = [one for status in Status for one in memory.records.find(limit=1000, status=status)]
    ada = next(one.id for one in records if one.payload.get("name") == "Ada")
    return {
        "now": plain(records),
        "then": [plain(memory.records.find(limit=1000, valid_at=moment)) for moment in moments],
        "links": [plain(memory.records.links(one.id)) for one in sorted(records, key=lambda one: one.id)],
        "links then": [plain(memory.records.links("office", valid_at=moment)) for moment in moments],
        "entities": without(memory.semantic.get_entity_graph([ada], depth=2), "salience"),  # fades since it was written
        "graph": (memory.graph.read().entities, plain(memory.graph.read().relations)),
        "lived": [memory.user.get_preference("git", "style", valid_at=moment) for moment in moments],
        "recalled": [
            [(hit.text, round(hit.score, 6)) for hit in memory.recall("where does Ada live and work?", valid_at=moment)]
            for moment in (None, *moments)
        ],
        "context": memory.assemble_context("deploy").text,
    }


def test_an_empty_store_answers_the_same_after_an_import(timed: AgentMemory, clock: Any, other: Path) -> None:
    moments = a_life(timed, clock)
    said = lines(timed)
    before = answers(timed, moments)
    with AgentMemory("ada", "c1", store=other, clock=clock) as copy:
        arrived = clock.forward(hours=1)
        assert take(copy, said)["forgotten"] == 0
        clock.forward(hours=-1)
        copy.upkeep.catch_up()
        assert answers(copy, moments) == before
        seq = copy.upkeep.stats()["seq"]
        assert take(copy, said) == {"created": 0, "updated": 0, "unchanged": len(said), "forgotten": 0, "held": 0}
        assert copy.upkeep.stats()["seq"] == seq and copy.upkeep.verify().ok
        again = [json.loads(line) for line in lines(copy)]
        assert len(again) == len(said)
        assert copy.records.find(as_of=arrived.replace(year=2025)) == [], "it did not know before it was told"
        assert [one.text for one in copy.records.history("typo")] == ["typed right"], "errors stay behind"


def test_every_link_comes_once_and_after_both_of_its_ends(timed: AgentMemory, clock: Any) -> None:
    a_life(timed, clock)
    there: set[str] = set()
    links = []
    for line in map(json.loads, lines(timed)):
        there.add(line["id"])
        assert all({link["source_id"], link["target_id"]} <= there for link in line["links"])
        links += [(link["source_id"], link["target_id"], link["type"]) for link in line["links"]]
    assert len(links) == len(set(links)) == 12, (
        "between entities 2, of the office 1, of observations 2, of turns 2, of the conversation 3, of the user 2"
    )


def test_links_lead_to_what_their_ends_became(timed: AgentMemory, clock: Any, other: Path, monkeypatch: Any) -> None:
    """The store that takes them in knows an entity already, by another id; the pages are short."""
    monkeypatch.setattr("agent_memory.app.transfer.PAGE", 2)
    a_life(timed, clock)
    with AgentMemory("ada", "c1", store=other, clock=clock) as copy:
        known = copy.upsert_entity(Entity(name="Acme", type="Organization", first_seen=clock.now()))
        take(copy, lines(timed))
        assert copy.semantic.get_entity(known.id).name == "Acme"
        assert {link.type for link in copy.records.links(known.id)} == {"FOUNDED"}
        assert copy.upkeep.verify().ok


def test_what_leads_out_of_an_export_stays_behind(home: Path) -> None:
    with AgentMemory("*", shared=True) as shared:
        everybodys = shared.records.add("a rule for all").id
    with AgentMemory("ada") as memory:
        memory.records.add("mine", links=[Link(source_id="*self*", target_id=everybodys, type="ABOUT")])
        memory.records.add("yours", kind="plan")
    service = Service(config.load())
    call = service.named(service.identify(CallerClaim(user="ada")))
    (page,) = [page for page in exported(call, "ada", {"kind": "observation"}) if page]
    assert [(one.text, one.links) for one in page] == [("mine", [])]
    service.close()


@pytest.mark.parametrize("kind", ["turn", "conversation"])
def test_a_forgotten_conversation_does_not_come_back(memory: AgentMemory, kind: str) -> None:
    for conversation_id in ("c1", "c1", "c2"):
        memory.episodic.append(conversation_id, "user", "hello")
    memory.episodic.update_conversation("c1", title="Private")
    said = [one for one in lines(memory) if f'"kind":"{kind}"'.encode() in one]
    memory.records.forget_where(conversation_id="c1")
    assert take(memory, said)["forgotten"] == (2 if kind == "turn" else 1)
    assert [one.conversation_id for one in memory.episodic.conversations()] == ["c2"]
    memory.episodic.append("c1", "user", "a new one")
    take(memory, said)
    assert {one.title for one in memory.episodic.conversations()} == {None}, "its title was forgotten, too"
    assert len(memory.episodic.get_conversation("c1")) == 1


def test_what_was_forgotten_does_not_come_back(memory: AgentMemory) -> None:
    gone = memory.records.add("the old passphrase", id="gone").id
    memory.records.add("the harbour", id="kept", links=[Link(source_id="*self*", target_id=gone, type="ABOUT")])
    said = lines(memory)
    memory.records.forget([gone])
    assert take(memory, said) == {"created": 0, "updated": 0, "unchanged": 1, "forgotten": 1, "held": 0}
    assert [one.id for one in memory.records.find()] == ["kept"]
    assert memory.upkeep.verify().ok
    taken = Import(_calling(memory))
    taken.take(said, restore_forgotten=True)
    assert taken.effects == {"created": 1, "updated": 0, "unchanged": 1, "forgotten": 0, "held": 0}
    assert memory.records.get(gone).text == "the old passphrase" and memory.records.links("kept")
    assert take(memory, said)["unchanged"] == 2  # it is there again, so it is not passed over any more


def test_what_an_agent_of_the_user_forgot_does_not_come_back(memory: AgentMemory) -> None:
    with AgentMemory("ada", agent="bot") as bot:
        gone = bot.records.add("the old passphrase").id
        said = lines(bot)
        bot.records.forget([gone])
    assert take(memory, said)["forgotten"] == 1


def test_another_user_takes_in_what_i_forgot(memory: AgentMemory) -> None:
    gone = memory.records.add("the old passphrase").id
    said = lines(memory)
    memory.records.forget([gone])
    with AgentMemory("bob") as bob:
        assert take(bob, said)["created"] == 1
