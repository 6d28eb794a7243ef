"""A question that names one thing finds what is known about another that is related to it. C9."""

from __future__ import annotations

import re
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent_memory import AgentMemory
from agent_memory.models import Entity, Turn
from agent_memory.models.answer import Hit, Recalled
from agent_memory.models.recipe import DEFAULT
from agent_memory.models.record import Status

QUESTION = "what does checkout-api's failover depend on?"
WITHOUT = DEFAULT.model_copy(update={"entities": 0.0})


def shop(memory: AgentMemory, **when: datetime) -> dict[str, str]:
    """A service, its database, a fact about that, and much else."""
    checkout = memory.upsert_entity(Entity(name="checkout", type="Service", aliases=["checkout-api"], **when))
    database = memory.upsert_entity(Entity(name="pg-main", type="Database", **when))
    memory.semantic.create_relationship(checkout.id, database.id, "DEPENDS_ON")
    fact = memory.learn_fact("pg-main moves to eu-2 when it breaks", entity_ids=[database.id])
    for number in range(12):
        memory.learn_fact(f"pg-{number} moves to eu-{number + 3} when it breaks")
    return {"checkout": checkout.id, "database": database.id, "fact": fact.id}


def hit(found: Recalled, id: str) -> Hit:
    return next(one for one in found if one.id == id)


def place(found: Recalled, id: str) -> int:
    return [one.id for one in found].index(id)


@pytest.mark.requirement("C9")
def test_links_lead_to_what_the_question_does_not_name(memory: AgentMemory) -> None:
    ids = shop(memory)
    found, before = memory.recall(QUESTION, 50), memory.recall(QUESTION, 50, WITHOUT)
    assert place(found, ids["fact"]) < 3 < place(before, ids["fact"])
    why = hit(found, ids["fact"]).why
    assert why.channels["entities"] == round(DEFAULT.entities * 0.7 * 0.7, 4)
    assert why.entities == ["checkout → DEPENDS_ON → pg-main ← ABOUT"]
    assert hit(found, ids["database"]).why.entities == ["checkout → DEPENDS_ON"]
    named = hit(found, ids["checkout"]).why
    assert named.entities == ["checkout"] and "entities" not in named.channels
    others = [one for one in found if one.id not in ids.values()]
    assert len(others) == 12 and not any(one.why.entities or "entities" in one.why.channels for one in others)


@pytest.mark.requirement("C9")
def test_the_filter_holds_and_links_go_through_what_it_hides(memory: AgentMemory) -> None:
    ids = shop(memory)
    found, before = (memory.recall(QUESTION, 50, recipe, kinds=["fact"]) for recipe in (DEFAULT, WITHOUT))
    assert place(found, ids["fact"]) < place(before, ids["fact"]) and {one.kind for one in found} == {"fact"}
    assert hit(found, ids["fact"]).why.entities == ["checkout → DEPENDS_ON → pg-main ← ABOUT"]
    assert memory.recall(QUESTION, kinds=["turn"]).hits == []


def test_a_small_pool_does_not_lose_what_links_lead_to(memory: AgentMemory) -> None:
    ids = shop(memory)
    for recipe, there in ((DEFAULT, True), (WITHOUT, False)):
        small = recipe.model_copy(update={"pool": 1})
        assert (ids["fact"] in [one.id for one in memory.recall(QUESTION, 50, small)]) is there


def test_turns_that_mention_an_entity_are_found_by_its_other_name(memory: AgentMemory) -> None:
    ids = shop(memory)
    turn = Turn(conversation_id="c1", index=0, role="user", content="the standby took over at noon")
    turn_id = memory.store_turn(turn).id
    memory.semantic.create_relationship(turn_id, ids["database"], "MENTIONS")
    assert hit(memory.recall("what about PG Main?"), turn_id).why.entities == ["pg-main ← MENTIONS"]


def test_without_entities_nothing_is_different(memory: AgentMemory) -> None:
    for index, text in enumerate(("checkout is down", "who is on call?", "Ada is")):
        memory.store_turn(Turn(conversation_id="c1", index=index, role="user", content=text))
    with_links, without = (memory.recall("who is on call for checkout?", 10, one) for one in (DEFAULT, WITHOUT))
    assert [one.model_dump() for one in with_links] == [one.model_dump() for one in without]


def test_a_hub_does_not_raise_everything(memory: AgentMemory) -> None:
    ids = shop(memory)
    hub = memory.upsert_entity(Entity(name="Acme", type="Company"))
    memory.semantic.create_relationship(ids["checkout"], hub.id, "PART_OF")
    crowd = [memory.learn_fact(f"rule {number} about failover", entity_ids=[hub.id]).id for number in range(60)]
    found = memory.recall(QUESTION, 100)
    assert max(hit(found, one).why.channels["entities"] for one in crowd) < 0.05
    assert hit(found, ids["fact"]).why.channels["entities"] > 0.15


def test_what_is_not_active_names_nothing_and_leads_nowhere(memory: AgentMemory) -> None:
    ids = shop(memory)
    memory.records.amend(ids["database"], status=Status.ARCHIVED)
    assert not any(one.id == ids["fact"] and one.why.entities for one in memory.recall(QUESTION, 50))
    assert not any(one.why.entities for one in memory.recall("what about pg-main?", 50))


def test_what_is_forgotten_leads_nowhere(memory: AgentMemory) -> None:
    ids = shop(memory)
    assert hit(memory.recall(QUESTION, 50), ids["fact"]).why.entities
    memory.records.forget([ids["database"]])
    found = memory.recall(QUESTION, 50)
    assert not any("pg-main" in way for one in found for way in one.why.entities)


@pytest.mark.requirement("C9", "P9")
def test_a_replay_follows_the_links_of_then(timed: AgentMemory, clock: object) -> None:
    ids = shop(timed)
    clock.forward(hours=1)
    first = timed.recall(QUESTION, 20)
    clock.forward(hours=1)
    other = timed.upsert_entity(Entity(name="pg-ledger", type="Database", aliases=["failover"]))
    timed.semantic.create_relationship(ids["checkout"], other.id, "DEPENDS_ON")
    timed.semantic.create_relationship(ids["checkout"], ids["database"], "DEPENDS_ON", {"weight": 0.1})
    timed.learn_fact("pg-ledger breaks and moves", entity_ids=[other.id])
    timed.upsert_entity(Entity(name="checkout", type="Service", aliases=["cart"]))
    timed.upsert_entity(Entity(name="checkout api", type="Document"))
    replay = timed.receipts.replay(first.receipt_id)
    assert replay.identical and replay.same_pipeline, replay.differences
    assert [one.why for one in replay.recalled] == [one.why for one in first]
    assert not timed.receipts.replay(first.receipt_id, now=True).identical


@pytest.mark.requirement("C9")
def test_links_have_their_time(timed: AgentMemory, clock: object) -> None:
    ids = shop(timed, first_seen=clock.moment)
    before = clock.forward(days=1)
    clock.forward(days=1)
    late = timed.learn_fact("pg-main was upgraded", entity_ids=[ids["database"]])
    assert hit(timed.recall(QUESTION, 50), late.id).why.entities
    found = timed.recall(QUESTION, 50, as_of=before)
    assert hit(found, ids["fact"]).why.entities and late.id not in [one.id for one in found]
    found = timed.recall(QUESTION, 50, valid_at=before)
    assert hit(found, ids["fact"]).why.entities and late.id not in [one.id for one in found]
    timed.records.amend(ids["database"], valid_to=clock.moment)
    assert not any(one.id == late.id and one.why.entities for one in timed.recall(QUESTION, 50))


PEOPLE = [(tenant, user) for tenant in ("acme", "rival") for user in ("ann", "bob", "all")]


def fill(opened: dict[tuple[str, str], AgentMemory], pick: Random) -> None:
    """Everybody has things of the same names, linked with each other and with what is shared."""
    own: dict[tuple[str, str], list[str]] = {who: [] for who in PEOPLE}
    for _ in range(12):
        tenant, user = who = pick.choice(PEOPLE)
        alias = pick.choice(("checkout", "pg-main", "orders"))
        thing = opened[who].upsert_entity(Entity(name=f"{alias} of {tenant}-{user}", type="Thing", aliases=[alias]))
        own[who].append(thing.id)
        seen = sorted({*own[who], *own[tenant, "all"]})
        about = pick.sample(seen, min(len(seen), 2))
        opened[who].learn_fact(f"{tenant} {user} knows {pick.random()}", entity_ids=about)
        if len(seen) > 1:
            opened[who].semantic.create_relationship(*pick.sample(seen, 2), "USES")


@pytest.mark.requirement("C9")
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1))
def test_no_link_leads_over_a_wall(seed: int) -> None:
    pick = Random(seed)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        opened = {
            (tenant, user): stack.enter_context(
                AgentMemory("*" if user == "all" else user, tenant=tenant, shared=user == "all", store=f"{folder}/m.db")
            )
            for tenant, user in PEOPLE
        }
        fill(opened, pick)
        middle = datetime.now(UTC)
        fill(opened, pick)
        reached = 0
        for (tenant, user), memory in opened.items():
            question = "how do checkout, orders and pg-main go together?"
            for one in (*memory.recall(question, 200), *memory.recall(question, 200, as_of=middle)):
                assert one.record.scope.tenant == tenant and one.record.scope.user in (user, "*")
                owners = {owner for way in one.why.entities for owner in re.findall(r"of (\w+-\w+)", way)}
                assert owners <= {f"{tenant}-{user}", f"{tenant}-all"}
                reached += "entities" in one.why.channels
        assert reached
