"""Every derived memory says where it comes from, down to the turn. P9, C18."""

from __future__ import annotations

import pytest

from agent_memory import AgentMemory
from agent_memory.core.graph import origins
from agent_memory.models import Turn
from agent_memory.models.errors import NotFound
from agent_memory.models.record import Link

pytestmark = pytest.mark.requirement("P9")


@pytest.fixture
def lesson(memory: AgentMemory) -> str:
    """A note from two facts, one of them from a turn."""
    turn = Turn(id="turn", conversation_id="monday", index=0, role="user", content="The pool was exhausted at noon")
    memory.store_turn(turn)
    said = memory.learn_fact("The pool is too small", source="user_stated", source_turn_id="turn")
    seen = memory.learn_fact("Checkout was slow on Monday", source="user_stated")
    memory.records.add("Watch the pool", id="lesson")
    for fact in (said, seen):
        memory.records.link(Link(source_id="lesson", target_id=fact.id, type="DERIVED_FROM"))
    return "lesson"


def told(memory: AgentMemory, id: str) -> list[tuple[int, str]]:
    return [(one.depth, one.text) for one in memory.upkeep.why(id).origins]


def test_a_record_says_its_sources_and_theirs(memory: AgentMemory, lesson: str) -> None:
    assert told(memory, lesson) == [
        (0, "Watch the pool"),
        (1, "The pool is too small"),
        (2, "The pool was exhausted at noon"),
        (1, "Checkout was slow on Monday"),
    ]
    first, said, turn, seen = memory.upkeep.why(lesson).origins
    assert [one.sources for one in (first, said, turn, seen)] == [2, 1, 0, 0]
    assert (turn.id, turn.kind, turn.conversation_id) == ("turn", "turn", "monday")


def test_what_was_forgotten_is_not_named(memory: AgentMemory, lesson: str) -> None:
    memory.records.forget(["turn"])
    assert told(memory, lesson) == [(0, "Watch the pool"), (1, "Checkout was slow on Monday")]


def test_what_is_archived_is_still_a_source(memory: AgentMemory, lesson: str) -> None:
    memory.records.amend("turn", status="archived")
    turn = memory.upkeep.why(lesson).origins[2]
    assert (turn.id, turn.status) == ("turn", "archived")


def test_a_circle_and_a_source_of_two_are_told_once(memory: AgentMemory) -> None:
    for id in ("a", "b", "c"):
        memory.records.add(f"note {id}", id=id)
    for source, target in (("a", "b"), ("a", "c"), ("b", "c"), ("c", "a")):
        memory.records.link(Link(source_id=source, target_id=target, type="DERIVED_FROM"))
    found = memory.upkeep.why("a")
    assert [(one.depth, one.id, one.again) for one in found.origins] == [
        (0, "a", False), (1, "b", False), (2, "c", False), (3, "a", True), (1, "c", True),
    ]  # fmt: skip


@pytest.mark.local
def test_a_tree_has_a_bound_and_says_what_it_leaves_out(memory: AgentMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "MOST", 3)
    memory.records.add("a summary", id="summary")
    for number in range(5):
        memory.records.add(f"source {number}", id=f"s{number}")
        memory.records.link(Link(source_id="summary", target_id=f"s{number}", type="DERIVED_FROM"))
    found = memory.upkeep.why("summary")
    assert (len(found.origins), found.origins[0].sources, found.left_out) == (3, 5, 3)


def test_others_learn_nothing(memory: AgentMemory, lesson: str) -> None:
    with AgentMemory("eve") as eve, pytest.raises(NotFound):
        eve.upkeep.why(lesson)


def test_only_what_it_is_derived_from_counts(memory: AgentMemory) -> None:
    memory.records.add("a note", id="note")
    memory.records.add("another", id="other")
    memory.records.link(Link(source_id="note", target_id="other", type="RELATED_TO"))
    memory.records.link(Link(source_id="other", target_id="note", type="DERIVED_FROM"))
    assert told(memory, "note") == [(0, "a note")]
