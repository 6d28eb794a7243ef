"""What the calls of a client answer, field by field, where it was wrong once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_memory import AgentMemory
from agent_memory.models import Entity, Goal, Preference, Turn
from agent_memory.models.errors import Denied, InvalidInput
from agent_memory.models.kinds.kind import typed_value


@pytest.fixture
def memory() -> AgentMemory:
    with AgentMemory("ada", "c1") as client:
        yield client


@pytest.mark.requirement("C3", "C10")
def test_facts_tell_the_names_of_their_entities(memory: AgentMemory) -> None:
    ada = memory.upsert_entity(Entity(name="Ada", type="Person"))
    fact = memory.learn_fact("Ada likes rebases", entity_ids=[ada.id])
    [told] = memory.remember("rebases").facts
    assert told["entities"] == ["Ada"] and told["entity_ids"] == [ada.id]
    [near] = memory.semantic.vector_search_facts(memory.embedder.embed_single("rebases"))
    assert near["entities"] == ["Ada"] and near["id"] == fact.id
    assert memory.semantic.get_entity_graph([ada.id])["facts"][0]["entities"] == ["Ada"]
    memory.records.forget([ada.id])
    assert memory.remember("rebases").facts[0]["entities"] == []


@pytest.mark.requirement("C4")
def test_what_never_worked_is_not_offered(memory: AgentMemory) -> None:
    memory.procedural.learn_strategy("restart the pod by hand", "pod crash loop", ["kubectl"], success=False)
    assert memory.remember("restart the pod").strategies == [] and memory.what_worked_for("restart the pod") == []
    memory.procedural.learn_strategy("restart the pod by hand", "pod crash loop", ["kubectl"], success=True)
    [offered] = memory.remember("restart the pod").strategies
    assert offered == {"description": "restart the pod by hand", "tool_sequence": ["kubectl"], "success_rate": 0.5}


@pytest.mark.requirement("C4")
def test_tool_statistics_of_a_task_type_come_from_calls_and_strategies(memory: AgentMemory) -> None:
    memory.record_tool_usage("grep", {}, None, True, 30)
    memory.record_tool_usage("grep", {}, None, False, 10)
    learn = memory.procedural.learn_strategy
    learn("search, then patch", "debugging", ["grep", "sed"], success=True)
    learn("search, then patch", "debugging", ["grep", "sed"], success=False)
    learn("search the log", "Debugging of a crash loop", ["grep"], success=True)
    learn("write a migration", "databases", ["psql"], success=True)
    learn("never mind", "bug", ["gdb"], success=True)
    assert memory.procedural.get_tool_stats("debugging") == [
        {"tool": "grep", "successes": 2, "failures": 1, "success_rate": 2 / 3, "avg_latency": 20.0},
        {"tool": "sed", "successes": 1, "failures": 1, "success_rate": 0.5, "avg_latency": None},
    ]
    memory.procedural.record_invocation("c1", None, "sed", {}, None, True, 7, "debugging")
    told = {row["tool"]: row for row in memory.procedural.get_tool_stats("debugging")}
    assert told["sed"] == {"tool": "sed", "successes": 1, "failures": 0, "success_rate": 1.0, "avg_latency": 7.0}
    assert memory.procedural.get_tool_stats("gardening") == []


@pytest.mark.requirement("C4")
def test_reinforcing_a_strategy_keeps_the_conversation_it_came_from(memory: AgentMemory) -> None:
    learned = memory.procedural.learn_strategy("bisect", "regressions", ["git"], from_conversation_id="c7")
    memory.procedural.reinforce_strategy(learned.id, success=True)
    assert memory.records.get(learned.id).conversation_id == "c7"
    memory.procedural.learn_strategy("bisect", "regressions", ["git"])
    assert memory.records.get(learned.id).conversation_id == "c7"


@pytest.mark.requirement("C2", "C3")
@pytest.mark.parametrize("text", ["a", "deploy", "the quick brown fox", "Ada"])
def test_a_vector_is_not_nearer_than_itself(memory: AgentMemory, text: str) -> None:
    memory.store_turn(Turn(conversation_id="c1", index=0, role="user", content=text))
    memory.upsert_entity(Entity(name=text, type="Concept"))
    memory.learn_fact(text)
    near = memory.embedder.embed_single(text)
    found = [
        *memory.episodic.vector_search(near),
        *memory.semantic.vector_search_facts(near),
        *memory.semantic.vector_search_entities(near),
        *({"score": hit.why.similarity} for hit in memory.recall(text)),
    ]
    assert len(found) == 6 and all(0.9 < one["score"] <= 1 for one in found)


@pytest.mark.requirement("C5")
def test_the_desk_shows_ten_turns_and_lets_go_of_a_goal_after_an_hour(clock: Any) -> None:
    with AgentMemory("ada", "c1", clock=clock) as memory:
        for index in range(12):
            memory.store_turn(Turn(conversation_id="c1", index=index, role="user", content=f"turn {index}"))
        memory.working.set_active_goal("g1", "ship it")
        desk = memory.get_working_context()
        assert [turn["index"] for turn in desk["recent_turns"]] == list(range(11, 1, -1))
        assert desk["active_goal"]["id"] == "g1"
        clock.forward(seconds=3599)
        assert memory.working.get_active_goal() is not None
        clock.forward(seconds=2)
        assert memory.working.get_active_goal() is None and memory.get_working_context()["active_goal"] is None


@pytest.mark.requirement("C6")
def test_goals_come_with_their_parent(memory: AgentMemory) -> None:
    parent = memory.add_goal(Goal(description="ship 1.0", priority=2))
    child = memory.add_goal(Goal(description="write the guide", priority=5, parent_goal_id=parent.id))
    first, second = memory.get_active_goals()
    assert first.id == child.id and first.parent is not None and first.parent.description == "ship 1.0"
    assert second.parent is None
    assert memory.goals.get(child.id).parent == first.parent == memory.goals.children(parent.id)[0].parent


@pytest.mark.requirement("C7")
def test_the_user_context_has_keys_a_name_and_the_last_activity(memory: AgentMemory) -> None:
    assert memory.get_user_context()["user"] == {"id": "ada", "name": None, "last_active": None}
    memory.user.set_preference("git", "merge style", "rebase")
    memory.user.set_preference("user", "name", "Ada L.")
    told = memory.get_user_context()
    assert told["preferences"][0] == {"domain": "git", "name": "merge style", "key": "merge style", "value": "rebase"}
    assert told["user"]["name"] == "Ada L." and datetime.fromisoformat(told["user"]["last_active"]).tzinfo


@pytest.mark.requirement("C9")
def test_weights_are_attributes_and_retrieve_is_remember(memory: AgentMemory) -> None:
    memory.learn_fact("staging is on port 5433")
    assert memory.retriever.retrieve("staging", "ada", top_k=3) == memory.remember("staging", top_k=3)
    memory.retriever.weights.semantic_facts = 0
    assert memory.retriever.retrieve("staging").facts == []
    with pytest.raises(Denied):
        memory.retriever.retrieve("staging", "bob")
    memory.retriever.weights.recency = float("nan")
    with pytest.raises(InvalidInput, match="finite") as caught:
        memory.remember("staging")
    assert caught.value.field == "weights"


@pytest.mark.requirement("C3")
def test_learning_says_what_it_superseded(memory: AgentMemory) -> None:
    said = {"subject": "Ada", "predicate": "works from"}
    assert memory.learn_fact("Ada works from Berlin", **said).superseded is None
    assert memory.learn_fact("Ada works from Berlin", **said).superseded is None
    later = memory.learn_fact("Ada works from Lisbon", **said)
    assert later.superseded == "Ada works from Berlin"
    assert "superseded" not in memory.records.get(later.id).payload


@pytest.mark.requirement("C3")
def test_late_news_supersedes_only_what_ended_when_it_began(memory: AgentMemory) -> None:
    said, now = {"subject": "payments", "predicate": "on call"}, datetime.now(UTC)

    def learnt(name: str, days: int) -> str | None:
        return memory.learn_fact(f"{name} is on call", **said, valid_from=now - timedelta(days=days)).superseded

    assert learnt("Cy", 4) is None
    assert learnt("Ana", 21) is None, "Cy still holds"
    assert learnt("Bo", 10) == "Ana is on call"
    assert learnt("Ana", 1) == "Cy is on call"
    assert [one.text for one in memory.records.find("fact")] == ["Ana is on call"]


@pytest.mark.requirement("P7")
@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("3.10", "3.10"),
        ("3.11", "3.11"),
        ("1e5", "1e5"),
        ("4", 4),
        ("true", True),
        ("[3.10]", "[3.10]"),
        ("[0.5, 1]", [0.5, 1]),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("rebase", "rebase"),
        ("007", "007"),
    ],
)
def test_typed_values_keep_their_spelling(typed: str, value: object) -> None:
    assert typed_value(typed) == value and type(typed_value(typed)) is type(value)


WORDS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.requirement("P7")
@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_preferences_written_as_markdown_are_read_back_unchanged(values: list[object]) -> None:
    with AgentMemory("ada", store="memory://") as memory:
        for number, value in enumerate(values):
            memory.user.set_preference("things", f"number {number}", value)
        page = memory.user.to_markdown()
        assert memory.user.from_markdown(page) == []
    with AgentMemory("ada", store="memory://") as other:
        other.user.from_markdown(page)
        assert other.user.to_markdown() == page


@pytest.mark.requirement("P7")
def test_lines_that_are_not_understood_are_named_and_nothing_changes(memory: AgentMemory) -> None:
    memory.user.set_preference("git", "merge style", "rebase")
    page = "# Preferences\n\n## git\n\n- **merge style**: merge\n- editor: vim\nand so on\n"
    with pytest.raises(InvalidInput) as caught:
        memory.user.from_markdown(page)
    assert "line 6: '- editor: vim'; line 7: 'and so on'" in caught.value.message and caught.value.field == "text"
    assert memory.user.get_preference("git", "merge style") == "rebase"
    corrected = page.replace("- editor: vim\nand so on\n", "- **editor**: 3.10\n")
    assert memory.user.from_markdown(corrected) == [
        Preference(domain="git", name="merge style", value="merge"),
        Preference(domain="git", name="editor", value="3.10"),
    ]
    assert json.dumps(memory.user.get_preference("git", "editor")) == '"3.10"'
