"""Conversations as records, and the links that say what belongs to what. C2, C4, C6, C7."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from agent_memory import AgentMemory
from agent_memory.models import Conversation, Entity, Goal, Link, Turn
from agent_memory.models.errors import InvalidInput, NotFound

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def say(memory: AgentMemory, conversation: str, index: int, minutes: int = 0) -> Turn:
    when = NOON + timedelta(minutes=minutes)
    turn = Turn(conversation_id=conversation, index=index, role="user", content=f"turn {index}", timestamp=when)
    return memory.store_turn(turn)


def linked(memory: AgentMemory, id: str) -> list[tuple[str, str, str]]:
    """Each link of a record as the kinds of its ends and its type."""

    def kind(end: str) -> str:
        return str(memory.records.get(end).kind)

    return sorted((kind(one.source_id), one.type, kind(one.target_id)) for one in memory.records.links(id))


@pytest.mark.requirement("C2")
def test_a_conversation_is_listed_with_its_times_and_marks(memory: AgentMemory) -> None:
    say(memory, "c1", 1, 10)
    say(memory, "c1", 0, 0)
    say(memory, "C1", 0, 60)
    second, first = memory.episodic.conversations()
    assert (first.conversation_id, second.conversation_id) == ("c1", "C1")  # ids are told apart by their case
    assert first == Conversation(
        id=first.id,
        conversation_id="c1",
        user="ada",
        started_at=NOON,
        last_turn_at=NOON + timedelta(minutes=10),
    )
    named = memory.episodic.update_conversation("c1", title="About turns", archived=True)
    assert (named.id, named.title, named.archived, named.consolidated) == (first.id, "About turns", True, False)
    say(memory, "c1", 2, 20)
    [stored] = memory.episodic.conversations(archived=True)
    assert stored == named.model_copy(update={"last_turn_at": NOON + timedelta(minutes=20)})
    assert [one.conversation_id for one in memory.episodic.conversations(archived=False)] == ["C1"]
    assert memory.episodic.update_conversation("c1", archived=False, consolidated=True).title == "About turns"
    assert len(memory.records.history(first.id)) == 3  # one version for each change, none for a turn


@pytest.mark.requirement("C2")
def test_a_conversation_that_never_began_is_named(memory: AgentMemory) -> None:
    with pytest.raises(NotFound) as missing:
        memory.episodic.update_conversation("nowhere", title="x")
    assert missing.value.field == "conversation_id"
    say(memory, "c1", 0)
    with pytest.raises(InvalidInput) as refused:
        memory.episodic.update_conversation("c1", title=" ")
    assert refused.value.field == "title" and memory.episodic.conversations()[0].title is None


@pytest.mark.requirement("C2")
def test_a_conversation_goes_with_its_last_turn_and_is_back_with_the_next_one(memory: AgentMemory) -> None:
    first, second = say(memory, "c1", 0), say(memory, "c1", 1)
    memory.episodic.update_conversation("c1", title="Private")
    memory.records.forget([first.id])
    [left] = memory.episodic.conversations()
    assert set(memory.records.forget([second.id]).ids) == {second.id, left.id}
    assert memory.episodic.conversations() == []
    say(memory, "c1", 0)
    assert [one.title for one in memory.episodic.conversations()] == [None]


def test_nobody_ties_a_record_to_a_turn_by_hand(memory: AgentMemory) -> None:
    turn, note = say(memory, "c1", 0), memory.records.add("worth keeping")
    tie = Link(source_id=note.id, target_id=turn.id or "", type="HAS_TURN")
    for attempt in (
        lambda: memory.records.link(tie),
        lambda: memory.records.add("mine", links=[tie]),
        lambda: memory.semantic.create_relationship(tie.source_id, tie.target_id, tie.type),
        lambda: memory.records.unlink(memory.episodic.conversations()[0].id, tie.target_id, tie.type),
    ):
        with pytest.raises(InvalidInput, match="made by storing turns"):
            attempt()
    assert note.id not in memory.records.forget([tie.target_id]).ids


def test_many_turns_at_once_make_one_conversation(memory: AgentMemory) -> None:
    turns = [
        {"text": f"turn {index}", "kind": "turn", "conversation_id": "c1", "payload": {"index": index, "role": "user"}}
        for index in range(20)
    ]
    written = memory.records.add_many(turns)
    [conversation] = memory.episodic.conversations()
    held = {one.target_id for one in memory.records.links(conversation.id) if one.type == "HAS_TURN"}
    assert [one.effect for one in written] == ["created"] * 20 and held == {one.id for one in written}


@pytest.mark.local
def test_conversations_of_others_are_out_of_reach(memory: AgentMemory) -> None:
    say(memory, "c1", 0)
    with AgentMemory("bob") as bob:
        assert bob.episodic.conversations() == []
        with pytest.raises(NotFound):
            bob.episodic.update_conversation("c1", title="mine")
        say(bob, "c1", 0)
        assert [one.user for one in bob.episodic.conversations()] == ["bob"]
    assert [one.user for one in memory.episodic.conversations()] == ["ada"]


# -- who writes which link


def turns(memory: AgentMemory) -> str:
    say(memory, "c1", 0)
    return say(memory, "c1", 1).id


def call(memory: AgentMemory) -> str:
    memory.procedural.register_tool("grep", "Finds lines")
    return memory.procedural.record_invocation("c1", turns(memory), "grep", {}, None, True, 5, "debugging")


def strategy(memory: AgentMemory) -> str:
    call(memory)
    made = memory.procedural.learn_strategy("read the log", "debugging", ["grep"], "c1")
    return memory.procedural.reinforce_strategy(made.id, success=False).id


def reflection(memory: AgentMemory) -> str:
    memory.reflect({"success": False, "task_type": "debugging"})
    return memory.records.find("reflection")[0].id


def fact(memory: AgentMemory) -> str:
    entity = memory.upsert_entity(Entity(name="checkout", type="Service"))
    return memory.learn_fact("checkout is slow", entity_ids=[entity.id], source_turn_id=turns(memory)).id


def goal(memory: AgentMemory) -> str:
    first, second = (memory.add_goal(Goal(description=one)) for one in ("tests pass", "budget agreed"))
    return memory.add_goal(Goal(description="ship", parent_goal_id=first.id, blocked_by=[second.id])).id


def preference(memory: AgentMemory) -> str:
    memory.user.set_preference("git", "merge style", "rebase")
    return memory.records.find("preference")[0].id


def expertise(memory: AgentMemory) -> str:
    memory.user.set_expertise("Rust", "novice")
    memory.user.set_expertise("Rust", "expert")
    return memory.records.find("expertise")[0].id


def interest(memory: AgentMemory) -> str:
    memory.user.add_interest("sailing")
    return memory.records.find("interest")[0].id


WRITERS: dict[str, tuple[Callable[[AgentMemory], str], str, str]] = {
    "HAS_TURN": (turns, "conversation", "turn"),
    "FOLLOWED_BY": (turns, "turn", "turn"),
    "USED_TOOL": (call, "turn", "tool_call"),
    "INVOKED": (call, "tool_call", "tool"),
    "RESULTED_IN": (call, "tool_call", "outcome"),
    "HAS_REFLECTION": (reflection, "outcome", "reflection"),
    "ABOUT": (fact, "fact", "entity"),
    "DERIVED_FROM": (fact, "fact", "turn"),
    "HAS_GOAL": (goal, "user", "goal"),
    "SUBGOAL_OF": (goal, "goal", "goal"),
    "BLOCKED_BY": (goal, "goal", "goal"),
    "HAS_PREFERENCE": (preference, "user", "preference"),
    "HAS_EXPERTISE": (expertise, "user", "expertise"),
    "INTERESTED_IN": (interest, "user", "interest"),
    "USES_TOOL": (strategy, "strategy", "tool"),
    "SUCCEEDED_IN": (strategy, "strategy", "conversation"),
    "FAILED_IN": (strategy, "strategy", "conversation"),
}
"""Each type of link, the operation whose moment it is, and the kinds of its ends."""

UPKEEP = {"MENTIONS": "extraction", "EFFECTIVE_FOR": "patterns"}
"""Those that upkeep finds out, and the job that will write them; until then whoever knows one calls `records.link`."""

NAMED = """HAS_TURN FOLLOWED_BY USED_TOOL INVOKED RESULTED_IN MENTIONS ABOUT DERIVED_FROM HAS_GOAL SUBGOAL_OF BLOCKED_BY
HAS_PREFERENCE HAS_EXPERTISE INTERESTED_IN USES_TOOL EFFECTIVE_FOR SUCCEEDED_IN FAILED_IN HAS_REFLECTION"""


def test_each_relation_has_a_writer() -> None:
    assert WRITERS.keys() | UPKEEP.keys() == set(NAMED.split()) and not WRITERS.keys() & UPKEEP.keys()


@pytest.mark.requirement("C2", "C4", "C6", "C7")
@pytest.mark.parametrize("type", WRITERS)
def test_a_relation_is_written_where_its_moment_comes(memory: AgentMemory, type: str) -> None:
    write, source, target = WRITERS[type]
    assert (source, type, target) in linked(memory, write(memory))


@pytest.mark.requirement("C7")
def test_the_level_of_an_expertise_is_on_its_link(memory: AgentMemory) -> None:
    [link] = memory.records.links(expertise(memory))
    assert link.properties == {"level": "expert"}


@pytest.mark.requirement("C9")
def test_what_belongs_together_does_not_answer_for_each_other(memory: AgentMemory) -> None:
    entity = memory.upsert_entity(Entity(name="checkout", type="Service"))
    about, other = say(memory, "c1", 0), say(memory, "c1", 5)
    memory.semantic.create_relationship(about.id, entity.id, "MENTIONS")
    why = {hit.id: hit.why.entities for hit in memory.recall("checkout", 10)}
    assert why[about.id] == ["checkout ← MENTIONS"] and not why.get(other.id)
