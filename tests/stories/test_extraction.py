"""What conversations say becomes entities, facts and relations, without a model. C11, C18, P20."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.core.upkeep.consolidate import consolidate
from agent_memory.core.upkeep.job import JobTurn
from agent_memory.models.errors import InvalidInput, NotFound, WriteRefused
from agent_memory.models.kinds.conversation import Turn
from agent_memory.models.kinds.knowledge import Entity
from agent_memory.models.moment import to_micros
from agent_memory.models.record import Record
from agent_memory.ports.changes import Put

pytestmark = pytest.mark.requirement("C18")
LONG_AGO = datetime(2024, 5, 15, 10, tzinfo=UTC)


def say(memory: AgentMemory, *said: str, talk: str = "c1", at: datetime = LONG_AGO, role: Any = "user") -> list[Turn]:
    """Turns of a conversation, a minute apart."""
    begin = len(memory.episodic.get_conversation(talk))
    return [
        memory.episodic.store_turn(
            Turn(conversation_id=talk, index=begin + n, role=role, content=text, timestamp=at + timedelta(minutes=n))
        )
        for n, text in enumerate(said)
    ]


def facts(memory: AgentMemory, **at: Any) -> list[str]:
    return sorted(one.text for one in memory.records.find("fact", limit=500, **at))


def entities(memory: AgentMemory) -> dict[str, Record]:
    return {one.payload["name"]: one for one in memory.records.find("entity", limit=500)}


def test_a_conversation_becomes_facts_entities_and_relations(memory: AgentMemory) -> None:
    say(memory, "Our checkout-api depends on pg-main. We use Postgres 16 for billing.")
    made = memory.upkeep.extract("c1")
    assert made.turns == 1 and made.made_by == "rules"
    assert [one.claim for one in made.facts] == ["checkout-api depends on pg-main", "we use Postgres 16 for billing"]
    assert {one.name: one.type for one in made.entities} == {
        "checkout-api": "service",
        "pg-main": "service",
        "Postgres": "technology",
    }
    named = entities(memory)
    graph = memory.semantic.get_entity_graph([named["checkout-api"].id], depth=1)
    assert [(one["relationship"], one["entity"]["name"]) for one in graph["related"]] == [("DEPENDS_ON", "pg-main")]
    assert "checkout-api depends on pg-main" in [one["claim"] for one in graph["facts"]]


def test_each_says_which_stretch_of_which_turn_it_is_from(memory: AgentMemory) -> None:
    (turn,) = say(memory, "Hello there! My sister Anna is a nurse. Bye.")
    made = memory.upkeep.extract("c1")
    for fact in made.facts:
        (link,) = [one for one in memory.records.links(fact.id) if one.type == "DERIVED_FROM"]
        assert link.target_id == turn.id
        assert turn.content[link.properties["start"] : link.properties["end"]] == "My sister Anna is a nurse."
        assert [one.id for one in memory.upkeep.why(fact.id).origins] == [fact.id, turn.id]
    anna = entities(memory)["Anna"]
    mentions = {one.source_id: one for one in memory.records.links(anna.id) if one.type == "MENTIONS"}
    assert turn.content[mentions[turn.id].properties["start"] : mentions[turn.id].properties["end"]] == "Anna"
    assert len(mentions) == 2  # the conversation names her, too


@pytest.mark.parametrize(
    "said",
    [
        "Do we use Postgres for billing?",
        "If we moved to Kafka, checkout-api would depend on it.",
        "I live on the moon, lol.",
        "I live on Mars. Just kidding!",
        "Bob says we use Oracle for billing.",
        'Translate "I live in Rome" into German.',
        "Maybe I work at Siemens one day.",
        "> I live in Rome",
    ],
)
def test_what_is_no_statement_is_no_fact(memory: AgentMemory, said: str) -> None:
    say(memory, said)
    assert memory.upkeep.extract("c1").facts == []
    assert facts(memory) == []


def test_a_list_of_languages_is_read_in_one_pass(memory: AgentMemory) -> None:
    """Letters that could be split into names in many ways would keep the job busy for ever."""
    say(memory, f"I speak {'A' * 120}%.", "I speak French and a bit of German.")
    memory.upkeep.extract("c1")
    assert [one.split(" ", 1)[1] for one in facts(memory)] == ["speaks French", "speaks German"]


def test_twice_is_once(memory: AgentMemory) -> None:
    say(
        memory,
        "I live in Berlin.",
        "I work at Siemens.",
        "I live in Lisbon now.",
        "Always run the linter before a push.",
    )
    first = memory.upkeep.extract("c1")
    assert len(first.facts) == 3 and len(first.proposals) == 1
    before = memory.upkeep.stats()["seq"]
    again = memory.upkeep.extract("c1")
    assert again.facts == [] and again.proposals == [] and not any(one.new for one in again.entities)
    assert memory.upkeep.stats()["seq"] == before
    assert memory.upkeep.verify().ok


def test_what_a_user_wants_waits_for_review_as_a_preference(memory: AgentMemory) -> None:
    say(memory, "Never push to main.")
    (id,) = memory.upkeep.extract("c1").proposals
    held = memory.review.show(id)
    assert held.kind == "preference" and held.evidence[0].text == "Never push to main."
    memory.review.approve(id)
    assert memory.user.get_preference("instructions", "push to main") == "never"
    assert memory.records.get(id).valid_from == memory.episodic.get_conversation("c1")[0].timestamp


@pytest.mark.local
@pytest.mark.requirement("P18")
def test_what_a_user_wants_becomes_a_rule_by_way_of_a_diff(memory: AgentMemory) -> None:
    say(memory, "Never push to main.")
    (id,) = memory.upkeep.extract("c1").proposals
    memory.review.approve(id)
    proposal = memory.rules.propose_rule(id)
    assert "+- **never-push-to-main** Never push to main." in (proposal.diff or "")
    memory.rules.approve(proposal.id)
    assert [rule.id for rule in memory.rules.read().rules] == ["never-push-to-main"]
    memory.user.set_preference("editor", "theme", "dark")
    with pytest.raises(InvalidInput, match="has no rule"):
        memory.rules.propose_rule(memory.records.find("preference", limit=1)[0].id)


def test_below_the_threshold_it_waits(memory: AgentMemory) -> None:
    say(memory, "The staging database moved to port 5433.", role="assistant")
    (fact,) = memory.upkeep.extract("c1").facts
    assert fact.held and fact.confidence < 0.7 and facts(memory) == []
    assert memory.upkeep.extract("c1").facts == [] and len(memory.review.list()) == 1
    assert memory.review.show(fact.id).why == "its confidence is below the threshold"
    memory.review.approve(fact.id)
    assert facts(memory) == ["staging database is on port 5433"]
    assert memory.upkeep.extract("c1").facts == [] and memory.review.list() == []


def test_what_a_stranger_says_waits_and_relates_nothing(memory: AgentMemory) -> None:
    made = memory.upkeep.extract(text="checkout-api depends on evil-db.", source="web:evil.example")
    assert [one.held for one in made.facts] == [True] and facts(memory) == []
    assert memory.review.show(made.facts[0].id).why == "it comes from a source that is not trusted"
    for one in entities(memory).values():
        assert {link.type for link in memory.records.links(one.id)} <= {"MENTIONS", "DERIVED_FROM", "ABOUT"}


@pytest.mark.local
def test_a_claim_that_waits_for_review_relates_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_MEMORY_FACT_CONFIDENCE_THRESHOLD", "0.95")
    with AgentMemory("ada", "c1") as memory:
        anna = memory.upsert_entity(Entity(name="Anna", type="person")).id
        globex = memory.upsert_entity(Entity(name="Globex", type="organization")).id
        memory.semantic.create_relationship(anna, globex, "WORKS_AT")
        say(memory, "Anna works at Initech.")
        assert [one.held for one in memory.upkeep.extract("c1").facts] == [True]
        links = memory.records.links(anna)
        assert [one.target_id for one in links if one.type == "WORKS_AT"] == [globex]


@pytest.mark.local
def test_whoever_is_killed_before_the_relation_makes_it_the_next_time(
    memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    say(memory, "Anna works at Globex.")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr("agent_memory.core.upkeep.extract.keep._related", killed)
        memory.upkeep.extract("c1")
    assert facts(memory) == ["Anna works at Globex"]
    memory.upkeep.extract("c1")
    links = memory.records.links(entities(memory)["Anna"].id)
    assert [one.target_id for one in links if one.type == "WORKS_AT"] == [entities(memory)["Globex"].id]


def test_tools_and_prompts_claim_nothing(memory: AgentMemory) -> None:
    say(memory, "I live in Rome.", role="tool")
    say(memory, "I live in Rome.", role="system")
    assert memory.upkeep.extract("c1").facts == []


def test_a_text_is_kept_and_read(memory: AgentMemory) -> None:
    made = memory.upkeep.extract(text="I moved to Oslo last year.", said_at=LONG_AGO)
    (fact,) = made.facts
    assert fact.claim.endswith("lives in Oslo") and fact.created_at == datetime(2023, 1, 1, tzinfo=UTC)
    origins = memory.upkeep.why(fact.id).origins
    assert [one.text for one in origins][1:] == ["I moved to Oslo last year."]


def test_the_time_is_that_of_the_turn(memory: AgentMemory) -> None:
    say(memory, "I live in Berlin.", at=LONG_AGO)
    (fact,) = memory.upkeep.extract("c1").facts
    assert fact.created_at == LONG_AGO
    say(memory, "The demo is tomorrow.", talk="c2", at=LONG_AGO)
    (fact,) = memory.upkeep.extract("c2").facts
    assert fact.claim == "demo is tomorrow (2024-05-16)"


def test_forgetting_a_turn_takes_what_only_it_supported(memory: AgentMemory) -> None:
    one, _ = say(memory, "I live in Berlin and I work at Siemens.", "I live in Berlin.")
    memory.upkeep.extract("c1")
    assert len(facts(memory)) == 2 and set(entities(memory)) == {"Berlin", "Siemens"}
    memory.records.forget([one.id])
    assert [text.split(" ", 1)[1] for text in facts(memory)] == ["lives in Berlin"]
    assert set(entities(memory)) == {"Berlin"}
    assert memory.upkeep.verify().ok


def test_what_was_forgotten_does_not_come_back(memory: AgentMemory) -> None:
    say(memory, "I live in Berlin.")
    (fact,) = memory.upkeep.extract("c1").facts
    memory.records.forget([fact.id])
    assert memory.upkeep.extract("c1").facts == [] and facts(memory) == []


def test_it_names_what_is_wrong_with_a_call(memory: AgentMemory) -> None:
    with pytest.raises(NotFound, match="no conversation 'nowhere'"):
        memory.upkeep.extract("nowhere")
    with pytest.raises(InvalidInput, match="name a conversation, or give a text"):
        memory.upkeep.extract()
    with pytest.raises(InvalidInput, match="name a conversation, or give a text"):
        memory.upkeep.extract("c1", text="I live in Rome.")


# -- the job


@pytest.mark.requirement("C11")
def test_a_conversation_is_read_when_it_has_been_quiet(timed: AgentMemory, clock: Any) -> None:
    say(timed, "I live in Berlin.", at=clock.now())
    assert timed.upkeep.run_jobs()["consolidate"]["conversations"] == 0
    clock.forward(minutes=4)
    say(timed, "I work at Siemens.", at=clock.now())
    clock.forward(minutes=4)
    assert timed.upkeep.run_jobs()["consolidate"]["conversations"] == 0 and facts(timed) == []
    clock.forward(minutes=2)
    did = timed.upkeep.run_jobs()["consolidate"]
    assert (did["conversations"], did["turns"], did["facts"]) == (1, 2, 2)
    assert timed.episodic.conversations()[0].consolidated


@pytest.mark.requirement("C11")
def test_only_what_is_new_is_read(timed: AgentMemory, clock: Any) -> None:
    say(timed, "I live in Berlin.", at=clock.now())
    clock.forward(minutes=6)
    assert timed.upkeep.run_jobs()["consolidate"]["turns"] == 1
    before = timed.upkeep.stats()["seq"]
    assert timed.upkeep.run_jobs()["consolidate"]["turns"] == 0
    assert timed.upkeep.stats()["seq"] == before
    say(timed, "No, sorry, it's actually Bremen.", at=clock.now())
    clock.forward(minutes=6)
    did = timed.upkeep.run_jobs()["consolidate"]
    assert (did["turns"], did["facts"]) == (1, 1)
    assert [one.split(" ", 1)[1] for one in facts(timed)] == ["lives in Bremen"]


@pytest.mark.requirement("C11")
def test_many_conversations_of_several_users_are_read(timed: AgentMemory, clock: Any) -> None:
    for number in range(13):
        say(timed, "I live in Berlin.", f"The retry limit is {number}.", talk=f"c{number}", at=clock.now())
    clock.forward(minutes=6)
    assert timed.upkeep.run_jobs()["consolidate"]["conversations"] == 13
    assert all(one.consolidated for one in timed.episodic.conversations(limit=50))
    assert sum("lives in Berlin" in one for one in facts(timed)) == 1


@pytest.mark.requirement("C11")
def test_a_turn_with_control_characters_keeps_nobody_waiting(timed: AgentMemory, clock: Any) -> None:
    say(timed, "checkout-api depends on \x1b[1mpg-main\x1b[0m and kafka\x0b-1.", talk="c1", at=clock.now())
    say(timed, "I live in Berlin.", talk="c2", at=clock.now())
    clock.forward(minutes=6)
    assert timed.upkeep.run_jobs()["consolidate"]["conversations"] == 2
    assert any("lives in Berlin" in one for one in facts(timed))


class Strict:
    """A gate that keeps one city out."""

    def decide(self, changes: Any, author: Any) -> Any:
        if any(isinstance(one, Put) and "Berlin" in one.content.text for one in changes):
            raise WriteRefused("not about Berlin")
        return changes


@pytest.mark.local
@pytest.mark.requirement("C11")
def test_what_a_gate_refuses_is_passed_over(timed: AgentMemory, clock: Any) -> None:
    say(timed, "I live in Berlin.", "I work at Siemens.", at=clock.now())
    say(timed, "The retry limit is 7.", talk="c2", at=clock.now())
    clock.forward(minutes=6)
    keeping = timed._client.runtime.keeping(clock)
    keeping = keeping._replace(writing=keeping.writing._replace(gate=Strict()))
    lease = keeping.store.feed.lease("consolidate", "test", 60.0)
    assert lease is not None
    did = consolidate(keeping, JobTurn(lease, to_micros(clock.now()), None))
    assert (did["conversations"], did["turns"]) == (2, 3)
    assert [one.split(" ", 1)[1] for one in facts(timed)] == ["works at Siemens", "limit is 7"]


def test_what_was_said_earlier_relates_nothing_anew(memory: AgentMemory) -> None:
    """An import brings older conversations after newer ones."""
    say(memory, "Anna works at Globex.", at=LONG_AGO)
    memory.upkeep.extract("c1")
    say(memory, "Anna works at Initech.", talk="c2", at=LONG_AGO - timedelta(days=2000))
    memory.upkeep.extract("c2")
    assert facts(memory) == ["Anna works at Globex"]
    links = memory.records.links(entities(memory)["Anna"].id)
    named = {id: one.payload["name"] for one in entities(memory).values() for id in [one.id]}
    assert [named[one.target_id] for one in links if one.type == "WORKS_AT"] == ["Globex"]


@pytest.mark.local
@pytest.mark.requirement("C11")
def test_tenants_that_never_rest_keep_no_other_waiting(home: Path, clock: Any) -> None:
    with ExitStack() as stack:
        opened = [stack.enter_context(AgentMemory("ada", tenant=f"t{n:03}", clock=clock)) for n in range(101)]
        say(opened[-1], "I live in Berlin.", at=clock.now())
        clock.forward(minutes=6)
        for one in opened[:-1]:
            one.records.add("busy")
        keeping = opened[0]._client.runtime.keeping(clock)
        lease = keeping.store.feed.lease("consolidate", "test", 60.0)
        assert lease is not None
        consolidate(keeping, JobTurn(lease, to_micros(clock.now()), 1.0))
        assert len(facts(opened[-1])) == 1


# -- extractors of other packages

TOY = """
from datetime import datetime
from agent_memory.core.upkeep.extract.values import Claimed, Extract, NamedEntity

def weather(said, before):
    place = said.text.find("It rains in ")
    if place < 0:
        return Extract()
    where = said.text[place + 12:].split(".")[0]
    end = place + 12 + len(where)
    return Extract((NamedEntity(where, "place", place + 12, end),),
                   (Claimed("weather", "in " + where, "rain", place, end, single=True, confidence=0.9),
                    Claimed("weather", "is", said.role + " " + said.speaker, place, end, confidence=0.2)))

def fails(said, before):
    raise RuntimeError("the barometer fell")

def moody(said, before):
    if "Porto" in said.text:
        return Extract()
    raise RuntimeError("the barometer fell")

def beyond(said, before):
    return Extract((), (Claimed("a", "is", "b", 0, len(said.text) + 1),))

def nameless(said, before):
    return Extract((), (Claimed("a", "is", " ", 0, 1),))

def zoneless(said, before):
    return Extract((), (Claimed("a", "is", "b", 0, 1, since=datetime(2026, 1, 1)),))

def other(said, before):
    return ["rain"]
"""
WRONG = ("fails", "beyond", "nameless", "zoneless", "other", "gone", "rules")


@pytest.fixture
def toy(tmp_path: Path, home: Path) -> dict[str, str]:
    """A package as pip would have installed it."""
    site = tmp_path / "site"
    info = site / "toy_weather-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "toy_weather.py").write_text(TOY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-weather\nVersion: 1.0\n")
    entries = "".join(f"{name} = toy_weather:{name}\n" for name in ("weather", "moody", *WRONG))
    (info / "entry_points.txt").write_text(f"[agent_memory.extractors]\n{entries}")
    return {**os.environ, "PYTHONPATH": str(site)}


@pytest.fixture
def in_process(toy: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(toy["PYTHONPATH"])
    yield
    sys.modules.pop("toy_weather", None)


def python(code: str, environment: dict[str, str]) -> Any:
    begin = "import json\nfrom agent_memory import AgentMemory\nmemory = AgentMemory('ada')\n"
    ran = subprocess.run([sys.executable, "-c", begin + code], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout.splitlines()[-1])


@pytest.mark.requirement("P20")
def test_an_extractor_of_another_package_reads_beside_the_rules(toy: dict[str, str]) -> None:
    """What it finds is kept as what the rules find is: once, by keys, with its source, and below the threshold not at
    once."""
    code = """
memory.episodic.append("c1", "user", "I live in Berlin. It rains in Oslo.")
made, again = memory.upkeep.extract("c1"), memory.upkeep.extract("c1")
memory.episodic.append("c2", "user", "It rains in Oslo. It rains in Rome.")
repeated = memory.upkeep.extract("c2")
seq = memory.upkeep.stats()["seq"]
memory.upkeep.extract("c2")
rain = next(one for one in made.facts if one.object == "rain")
links = [one.properties for one in memory.records.links(rain.id) if one.type == "DERIVED_FROM"]
turn = memory.upkeep.why(rain.id).origins[1].text
print(json.dumps({
    "by": made.made_by,
    "facts": {one.claim: one.held for one in made.facts},
    "named": sorted(one.name for one in made.entities),
    "again": [one.claim for one in again.facts],
    "repeated": [one == rain.id for one in repeated.repeated],
    "unchanged": memory.upkeep.stats()["seq"] == seq,
    "links": links[0],
    "said": turn[links[0]["start"] : links[0]["end"]],
}))
"""
    assert python(code, toy) == {
        "by": "rules, weather",
        "facts": {"ada lives in Berlin": False, "weather in Oslo rain": False, "weather is user ada": True},
        "named": ["Berlin", "Oslo"],
        "again": [],
        "repeated": [True],
        "unchanged": True,
        "links": {"start": 18, "end": 34, "by": "weather"},
        "said": "It rains in Oslo",
    }


@pytest.mark.requirement("P20")
def test_extractors_that_cannot_be_used_are_named_and_take_nothing_with_them(toy: dict[str, str]) -> None:
    code = """
memory.episodic.append("c1", "user", "I live in Berlin. It rains in Oslo.")
print(json.dumps([memory.upkeep.run_jobs(), memory.upkeep.extract("c1").made_by]))
"""
    did, by = python(code, toy)
    assert by == "rules, weather" and "consolidate" in did and "retention" in did
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", "doctor", "--json"]
    checked = subprocess.run(command, env=toy, capture_output=True, text=True)
    said = [one for one in json.loads(checked.stdout)["checks"] if one["name"] == "plug-in"]
    states = {name: one for one in said for name in ("weather", "moody", *WRONG) if f"'{name}'" in one["detail"]}
    assert {name for name, one in states.items() if one["state"] == "warn"} == {*WRONG}
    assert "RuntimeError: the barometer fell" in states["fails"]["detail"]
    assert "0:52 is no stretch of the text" in states["beyond"]["detail"]


@pytest.mark.requirement("P20")
@pytest.mark.usefixtures("in_process")
def test_the_job_asks_extractors_of_other_packages(timed: AgentMemory, clock: Any, caplog: Any) -> None:
    say(timed, "I live in Berlin. It rains in Oslo.", at=clock.now())
    clock.forward(minutes=6)
    did = timed.upkeep.run_jobs()["consolidate"]
    assert (did["turns"], did["facts"]) == (1, 3)
    assert "weather in Oslo rain" in facts(timed)
    assert "the extractor moody is left out of a turn: RuntimeError" in caplog.text


@pytest.mark.requirement("P20")
def test_the_toy_package_brings_an_extractor(home: Path) -> None:
    code = """
made = memory.upkeep.extract(text="Spotted: a heron at Lake Garda. We use Redis 7.")
print(json.dumps([[one.claim for one in made.facts], [one.name for one in made.entities]]))
"""
    site = Path(__file__).parents[1] / "plugins"
    claims, named = python(code, {**os.environ, "PYTHONPATH": str(site)})
    assert claims == ["we use Redis 7", "ada spotted a heron at Lake Garda"] and "Lake Garda" in named
