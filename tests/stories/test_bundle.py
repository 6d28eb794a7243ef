"""`remember` is one question to several groups of records: the same answers as to each of them alone, of one moment,
with one receipt."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from agent_memory import AgentMemory
from agent_memory.core.recall.bundle import GROUPS
from agent_memory.engines.sqlite.connection import Connections
from agent_memory.models import Entity, Goal, Turn
from agent_memory.models.answer import Recalled
from agent_memory.models.bundle import RetrievalWeights
from agent_memory.models.recipe import BUNDLE

pytestmark = pytest.mark.local

SAID = [
    "the pager rang twice last night because of checkout",
    "who is on call this week? Ada is on call",
    "checkout depends on pg-main, and pg-main was slow on Tuesday",
    "we moved the office from Berlin to Lisbon in January",
    "rebase before you push, never merge",
    "the invoice run failed again, billing says it is the export",
]
QUESTIONS = [
    "pager",
    "What does Ada know about checkout?",
    "What does checkout depend on?",
    "Where was our office before the move?",
    "who was on call on Tuesday?",
    "what did Ada say about the invoice run?",
    "the export of the invoice run fails with a timeout: billing cannot send the invoices of last month, see below",
    "nothing of this kind was ever said",
]
SECTIONS = {"turn": "relevant_turns", "fact": "facts", "entity": "entities"}


@pytest.fixture
def full(clock: Any) -> Iterator[AgentMemory]:
    with AgentMemory("ada", "talk", clock=clock) as memory:
        made = {}
        for name, kind in (("Ada", "Person"), ("checkout", "Service"), ("pg-main", "Database"), ("billing", "Service")):
            made[name] = memory.upsert_entity(Entity(name=name, type=kind, first_seen=clock.now())).id
        memory.semantic.create_relationship(made["checkout"], made["pg-main"], "DEPENDS_ON")
        memory.semantic.create_relationship(made["Ada"], made["billing"], "WORKS_FOR")
        for place, text in enumerate(SAID * 4):
            clock.forward(hours=7)
            talk, index = f"talk {place % 3}", place // 3
            memory.store_turn(
                Turn(conversation_id=talk, index=index, role="user", content=f"{text} ({place})", timestamp=clock.now())
            )
        for city in ("Berlin", "Lisbon"):
            memory.learn_fact(f"our office is in {city}", subject="office", predicate="is in")
            clock.forward(days=9)
        memory.learn_fact("the move of the office was hard", entity_ids=[made["Ada"]])
        for who in ("Bo", "Ada"):
            memory.learn_fact(f"{who} is on call", subject="on call", predicate="is", entity_ids=[made["Ada"]])
            clock.forward(days=3)
        memory.learn_fact("checkout was down because pg-main was slow", entity_ids=[made["checkout"], made["pg-main"]])
        memory.procedural.learn_strategy("look at the pager first", "pager", ["psql"])
        memory.procedural.learn_strategy("ask billing for the export", "invoice", ["mail"])
        memory.procedural.learn_strategy("guess", "pager", ["dice"], success=False)
        memory.add_goal(Goal(description="silence the pager", created_at=clock.now()))
        memory.user.set_preference("user", "name", "Ada")
        yield memory


def alone(memory: AgentMemory, query: str, kind: str, k: int) -> Recalled:
    where: Any = {"kinds": [kind], **({"fields": {"worked": True}} if kind == "strategy" else {})}
    return memory.recall(query, k, BUNDLE, **where)


def scored(memory: AgentMemory, found: Recalled, weight: float) -> list[tuple[str, float]]:
    now, recency = memory._client.clock.now(), RetrievalWeights().recency
    scores = [
        (hit.id, weight * hit.score + recency * 2 ** (-((now - hit.record.valid_from) / timedelta(days=1)) / 30))
        for hit in found
    ]
    rounded = [(id, round(score, 6)) for id, score in scores]
    over = bool(found.past) and any(hit.held_until for hit in found)  # then the order is that of the past
    return rounded if over else sorted(rounded, key=lambda pair: -pair[1])


@pytest.mark.parametrize("query", QUESTIONS)
@pytest.mark.parametrize("k", [3, 10])
def test_each_group_is_what_a_recall_of_it_alone_gives(full: AgentMemory, query: str, k: int) -> None:
    bundle = full.remember(query, k)
    weights = RetrievalWeights()
    for kind, section in SECTIONS.items():
        expected = scored(full, alone(full, query, kind, k), getattr(weights, GROUPS[kind]))
        found = [(one["id"], one["score"]) for one in getattr(bundle, section)]
        assert [id for id, _ in found] == [id for id, _ in expected]
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=2e-6)
    strategies = scored(full, found := alone(full, query, "strategy", k), weights.procedural)
    named = {hit.id: hit.text.partition("\n")[0] for hit in found}
    assert [one["description"] for one in bundle.strategies] == [named[id] for id, _ in strategies]


@pytest.mark.parametrize("query", QUESTIONS)
def test_its_one_receipt_can_be_replayed(full: AgentMemory, query: str, clock: Any) -> None:
    bundle = full.remember(query)
    (told,) = full.receipts.find(limit=1000)
    shown = sum(len(getattr(bundle, one)) for one in (*SECTIONS.values(), "strategies"))
    assert (told.query, told.recipe, told.hits) == (query, "bundle", shown)
    clock.forward(days=1)
    full.learn_fact("our office is in Porto", subject="office", predicate="is in")
    full.records.add("something about the pager, the office, checkout and billing", kind="observation")
    replay = full.receipts.replay(told.receipt_id)
    assert replay.identical and len(replay.recalled.hits) == shown, replay.differences


def test_what_it_shows_counts_as_accessed_once(full: AgentMemory) -> None:
    bundle = full.remember("pager", include_semantic=False, include_procedural=False)
    ids = [one["id"] for one in bundle.relevant_turns]
    assert ids and [one.times for one in full.receipts.accesses(ids)] == [1] * len(ids)


def test_no_group_no_receipt(full: AgentMemory) -> None:
    none = {"episodic": 0.0, "semantic_facts": 0.0, "semantic_entities": 0.0, "procedural": 0.0}
    bundle = full.remember("pager", weights=none)
    assert not bundle.relevant_turns and bundle.active_goals and bundle.user_context["user"]["name"] == "Ada"
    assert full.receipts.find() == []


def test_all_groups_are_gathered_in_one_transaction(full: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle reads the store as often as one recall does, and four times more: goals, the user, the newest, and
    when entities were last accessed."""
    opened, real = [0], Connections.reading

    def reading(connections: Connections) -> Any:
        opened[0] += 1
        return real(connections)

    monkeypatch.setattr(Connections, "reading", reading)

    def counted(ask: Any) -> int:
        ask()
        opened[0] = 0
        ask()
        return opened[0]

    once = counted(lambda: full.recall("pager", 10, BUNDLE, kinds=["fact"]))
    assert counted(lambda: full.remember("pager", include_episodic=False, include_procedural=False)) <= once + 5
    assert counted(lambda: full.remember("pager")) <= once + 5
