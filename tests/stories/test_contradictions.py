"""Forty things that are said one after another, and what holds then: the cases in which memories go wrong. What was
said later wins by when it was said, not by when it arrived; nothing else is touched. C18, C5."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from agent_memory import AgentMemory
from agent_memory.models.kinds.knowledge import Entity

pytestmark = pytest.mark.requirement("C18")
DAY = datetime(2024, 5, 1, 9, tzinfo=UTC)

# What is said, each on its day, in the order in which it arrives; and what holds in the end, without the user's name.
CASES: dict[str, tuple[list[tuple[int, str]], list[str]]] = {
    # a later value of what has one value at a time takes the place of the earlier one
    "a move": ([(1, "I live in Berlin."), (9, "I live in Lisbon.")], ["lives in Lisbon"]),
    "two moves": ([(1, "I live in Rome."), (2, "I live in Oslo."), (3, "I live in Bonn.")], ["lives in Bonn"]),
    "moving back": ([(1, "I live in Rome."), (2, "I live in Oslo."), (3, "I live in Rome.")], ["lives in Rome"]),
    "a new job": ([(1, "I work at Nokia."), (5, "I joined Ericsson.")], ["works at Ericsson"]),
    "a port": (
        [(1, "The wiki listens on port 80."), (2, "The wiki listens on port 8080.")],
        ["wiki listens on port 8080"],
    ),
    "an owner": (
        [(1, "The wiki is owned by the Docs team."), (2, "The wiki is owned by the Web team.")],
        ["wiki is owned by Web team"],
    ),
    "a purpose": (
        [(1, "We use MySQL for billing."), (2, "We use Postgres for billing.")],
        ["we use Postgres for billing"],
    ),
    "a limit": ([(1, "The retry limit is five."), (2, "The retry limit is seven.")], ["retry limit is seven"]),
    "in other words": ([(1, "I work at Nokia."), (3, "I'm employed by Bosch.")], ["works at Bosch"]),
    "another case": (
        [(1, "The Wiki is owned by the Docs team."), (2, "The wiki is owned by the Web team.")],
        ["wiki is owned by Web team"],
    ),
    # what arrives late and was said before does not
    "late news": ([(9, "I live in Lisbon."), (1, "I live in Berlin.")], ["lives in Lisbon"]),
    "late news of work": ([(9, "I work at Bosch."), (1, "I work at Nokia.")], ["works at Bosch"]),
    "late news between": ([(1, "I live in Rome."), (9, "I live in Bonn."), (5, "I live in Oslo.")], ["lives in Bonn"]),
    "late and the same": ([(9, "I live in Bonn."), (1, "I live in Bonn.")], ["lives in Bonn"]),
    "a late number": (
        [(9, "The timeout is 30 seconds."), (2, "The timeout is 10 seconds.")],
        ["timeout is 30 seconds"],
    ),
    # what is unrelated stays
    "another subject": (
        [(1, "Anna lives in Rome."), (2, "Tom lives in Oslo.")],
        ["Anna lives in Rome", "Tom lives in Oslo"],
    ),
    "another predicate": ([(1, "I live in Rome."), (2, "I work at Bosch.")], ["lives in Rome", "works at Bosch"]),
    "another purpose": (
        [(1, "We use Redis for caching."), (2, "We use Kafka for events.")],
        ["we use Kafka for events", "we use Redis for caching"],
    ),
    "many at a time": ([(1, "We use Redis."), (2, "We use Kafka.")], ["we use Kafka", "we use Redis"]),
    "several relatives": (
        [(1, "My sister Anna is a nurse."), (2, "My sister Ella is a lawyer.")],
        ["'s sister is Anna", "'s sister is Ella", "Anna works as nurse", "Ella works as lawyer"],
    ),
    "similar services": (
        [(1, "cart-api listens on port 80."), (2, "card-api listens on port 81.")],
        ["card-api listens on port 81", "cart-api listens on port 80"],
    ),
    "nearly the same number": (
        [(1, "node-7 runs on Debian."), (2, "node-8 runs on Ubuntu.")],
        ["node-7 runs on Debian", "node-8 runs on Ubuntu"],
    ),
    "two languages": ([(1, "I speak Dutch."), (2, "I speak German.")], ["speaks Dutch", "speaks German"]),
    "dependencies": (
        [(1, "a-api depends on b-api."), (2, "a-api depends on c-api.")],
        ["a-api depends on b-api", "a-api depends on c-api"],
    ),
    # a denial ends what it denies, and nothing else
    "no longer": ([(1, "We use Jenkins."), (2, "We no longer use Jenkins.")], ["we do not use Jenkins"]),
    "no longer one of two": (
        [(1, "We use Redis."), (2, "We use Kafka."), (3, "We stopped using Redis.")],
        ["we do not use Redis", "we use Kafka"],
    ),
    "leaving": ([(1, "I work at Nokia."), (2, "I left Nokia.")], ["does not work at Nokia"]),
    "leaving another": (
        [(1, "I work at Bosch."), (2, "I don't work at Nokia.")],
        ["does not work at Nokia", "works at Bosch"],
    ),
    "not living elsewhere": (
        [(1, "I live in Rome."), (2, "I don't live in Oslo.")],
        ["does not live in Oslo", "lives in Rome"],
    ),
    "again after all": ([(1, "We use Redis."), (2, "We don't use Redis."), (3, "We use Redis.")], ["we use Redis"]),
    "tea": ([(1, "I like tea."), (2, "I don't like tea.")], ["does not like tea"]),
    "a late denial": ([(9, "We use Redis."), (1, "We don't use Redis.")], ["we use Redis"]),
    # what only seems to contradict
    "a question": ([(1, "I live in Rome."), (2, "Do I live in Oslo?")], ["lives in Rome"]),
    "a guess": ([(1, "I live in Rome."), (2, "Maybe I live in Oslo soon.")], ["lives in Rome"]),
    "hearsay": (
        [(1, "We use Redis for caching."), (2, "Bob says we use Valkey for caching.")],
        ["we use Redis for caching"],
    ),
    "a joke": ([(1, "I live in Rome."), (2, "I live in Oslo, haha.")], ["lives in Rome"]),
    "a condition": ([(1, "The limit is five."), (2, "If the limit is seven, it breaks.")], ["limit is five"]),
    # said again, and put right
    "said again": ([(1, "I live in Rome."), (2, "I live in Rome."), (3, "i live in Rome!")], ["lives in Rome"]),
    "put right": ([(1, "The limit is five. Sorry, I meant seven.")], ["limit is seven"]),
    "put right later": ([(1, "The limit is five."), (2, "Actually, the limit is seven.")], ["limit is seven"]),
}


IN_ONE_TURN: dict[str, tuple[list[str], list[str]]] = {
    "the end of one, and another": (
        ["I work at Nokia.", "I no longer work at Nokia. I work at Ericsson."],
        ["does not work at Nokia", "works at Ericsson"],
    ),
    "the other way round": (
        ["I work at Nokia.", "I work at Ericsson. I don't work at Nokia any more."],
        ["does not work at Nokia", "works at Ericsson"],
    ),
    "in one sentence": (
        ["I live in Lisbon.", "I used to live in Lisbon, but now I live in Oslo."],
        ["does not live in Lisbon", "lives in Oslo"],
    ),
    "of a service": (
        ["pg-main listens on port 80.", "pg-main doesn't listen on port 80 any more, it listens on port 81."],
        ["pg-main does not listen on port 80", "pg-main listens on port 81"],
    ),
    "corrected at once": (["I live in Rome. Actually, I live in Bonn."], ["lives in Bonn"]),
    "one after the other": (["I moved to Rome in 2019. I moved to Bonn in 2023."], ["lives in Bonn"]),
    "the last one first": (["I moved to Bonn in 2023. I moved to Rome in 2019."], ["lives in Bonn"]),
}
"""What is said in turns, a day apart; and what holds in the end."""


def told(memory: AgentMemory, said: list[tuple[int, str]]) -> None:
    for day, text in said:
        memory.upkeep.extract(text=text, said_at=DAY + timedelta(days=day, minutes=len(text)))


def held(memory: AgentMemory, day: int = 30) -> list[str]:
    now = memory.records.find("fact", limit=100, valid_at=DAY + timedelta(days=day))
    return sorted(one.text.removeprefix("ada").strip() for one in now)


@pytest.mark.parametrize("name", IN_ONE_TURN)
def test_what_one_turn_says_of_one_thing(memory: AgentMemory, name: str) -> None:
    said, expected = IN_ONE_TURN[name]
    told(memory, list(enumerate(said)))
    assert held(memory) == expected
    assert memory.upkeep.verify().ok


def test_there_are_forty() -> None:
    assert len(CASES) == 40


@pytest.mark.parametrize("name", CASES)
def test_what_holds_in_the_end(memory: AgentMemory, name: str) -> None:
    said, expected = CASES[name]
    told(memory, said)
    assert held(memory) == expected


def test_what_was_superseded_held_for_its_time(memory: AgentMemory) -> None:
    told(memory, [(1, "I live in Rome."), (9, "I live in Bonn."), (5, "I live in Oslo.")])
    assert [held(memory, day) for day in (3, 6, 10)] == [["lives in Rome"], ["lives in Oslo"], ["lives in Bonn"]]


def test_a_correction_was_so_from_the_beginning(memory: AgentMemory) -> None:
    told(memory, [(1, "The limit is five."), (4, "Actually, the limit is seven.")])
    assert held(memory, 2) == ["limit is seven"]
    (fact,) = memory.records.find("fact")
    assert "limit is five" in [one.text for one in memory.records.history(fact.id)]


def test_it_says_what_it_superseded(memory: AgentMemory) -> None:
    told(memory, [(1, "I live in Rome.")])
    (fact,) = memory.upkeep.extract(text="I live in Bonn.", said_at=DAY + timedelta(days=2)).facts
    assert fact.superseded == "ada lives in Rome"


def test_said_again_is_one_more_source_and_no_twin(memory: AgentMemory) -> None:
    told(memory, [(1, "I live in Rome."), (2, "I live in Rome!")])
    (fact,) = memory.records.find("fact")
    assert len([one for one in memory.records.links(fact.id) if one.type == "DERIVED_FROM"]) == 2
    assert len(memory.records.history(fact.id)) == 1


def test_what_a_user_stated_gains_a_confirmation(memory: AgentMemory) -> None:
    fact = memory.learn_fact(
        "ada lives in Rome", source="user_stated", subject="ada", predicate="lives in", valid_from=DAY
    )
    made = memory.upkeep.extract(text="I live in Rome.", said_at=DAY + timedelta(days=1))
    assert made.facts == [] and made.repeated == [fact.id]
    assert [one.type for one in memory.records.links(fact.id)] == ["CONFIRMED_BY"]


def test_a_relation_ends_with_the_claim_that_made_it(memory: AgentMemory) -> None:
    told(memory, [(1, "Anna works at Nokia."), (5, "Anna works at Ericsson.")])
    anna = next(one for one in memory.records.find("entity") if one.payload["name"] == "Anna")
    graph = memory.semantic.get_entity_graph([anna.id], depth=1)
    assert [(one["relationship"], one["entity"]["name"]) for one in graph["related"]] == [("WORKS_AT", "Ericsson")]


# -- what looks alike, and who is who


def test_learning_says_which_facts_look_alike(memory: AgentMemory) -> None:
    one = memory.learn_fact("Ada works in Lisbon", source="user_stated")
    memory.learn_fact("Ada likes tea", source="user_stated")
    memory.learn_fact("Bob works in Lisbon", source="user_stated")
    assert memory.learn_fact("Ada works from Lisbon", source="user_stated").alike == [one.id]
    written = memory.records.add("Ada works at home in Lisbon", kind="fact", source="user_stated")
    assert one.id in written.alike
    assert memory.records.add("Ada works at home in Lisbon").alike == []  # an observation claims nothing
    other = memory.learn_fact("Ada is at the fair", source="user_stated")
    assert one.id in memory.records.edit(other.id, text="Ada is working in Lisbon").alike


def entity(memory: AgentMemory, name: str) -> str:
    return next(one.id for one in memory.records.find("entity", limit=100) if one.payload["name"] == name)


def test_a_name_in_another_spelling_is_the_same(memory: AgentMemory) -> None:
    told(memory, [(1, "checkout-api depends on pg-main.")])
    made = memory.upkeep.extract(text="checkout_api is written in Go.", said_at=DAY)
    assert entity(memory, "checkout-api") in [one.id for one in made.entities if not one.new]


def test_an_alias_is_the_same(memory: AgentMemory) -> None:
    known = memory.semantic.upsert_entity(Entity(name="PostgreSQL", type="technology", aliases=["Postgres"]))
    made = memory.upkeep.extract(text="We use Postgres 16 for billing.", said_at=DAY)
    assert [(one.id, one.new) for one in made.entities] == [(known.id, False)] and made.proposals == []


def test_a_merge_is_proposed_and_never_silent(memory: AgentMemory) -> None:
    told(memory, [(1, "We use Postgres for billing.")])
    made = memory.upkeep.extract(text="We use PostgreSQL for search.", said_at=DAY)
    (proposal,) = made.proposals
    one, other = entity(memory, "Postgres"), entity(memory, "PostgreSQL")
    assert one != other
    assert memory.upkeep.extract(text="We use PostgreSQL for tickets.", said_at=DAY).proposals == []
    memory.review.approve(proposal)
    assert memory.semantic.get_entity(one).aliases == ["PostgreSQL"]
    merged = memory.upkeep.extract(text="We use PostgreSQL for events.", said_at=DAY)
    assert [made.id for made in merged.entities] == [one]

    memory.records.unlink(one, other, "SAME_AS")
    apart = memory.upkeep.extract(text="We use PostgreSQL for queues.", said_at=DAY)
    assert [made.id for made in apart.entities] == [other]
    assert memory.upkeep.verify().ok


def test_names_that_differ_in_a_number_are_not_nearly_the_same(memory: AgentMemory) -> None:
    told(memory, [(1, "node-7 runs on Debian.")])
    assert memory.upkeep.extract(text="node-8 runs on Debian.", said_at=DAY).proposals == []
