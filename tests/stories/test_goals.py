"""Goals as a state machine: what can follow what, no circles, and what a completed blocker lets go on."""

from __future__ import annotations

import threading

import pytest

from agent_memory import AgentMemory
from agent_memory.core.work import edges
from agent_memory.ledger import request
from agent_memory.models import Goal
from agent_memory.models.errors import Conflict, InvalidInput, NotFound

pytestmark = pytest.mark.requirement("C6", "T2")


@pytest.fixture
def memory() -> AgentMemory:
    with AgentMemory("ada") as client:
        yield client


def status(memory: AgentMemory, *goals: Goal) -> list[str]:
    return [memory.goals.get(goal.id).status for goal in goals]


def written(memory: AgentMemory) -> int:
    return memory.upkeep.verify().seq


def test_an_illegal_transition_names_the_legal_ones(memory: AgentMemory) -> None:
    goal = memory.add_goal(Goal(description="ship it"))
    memory.goals.update(goal.id, status="completed")
    before = written(memory)
    with pytest.raises(
        Conflict, match=r"is completed and cannot become abandoned \(from completed it can become activ"
    ):
        memory.goals.update(goal.id, status="abandoned")
    with pytest.raises(Conflict, match="is completed and cannot become blocked"):
        memory.add_goal(goal.model_copy(update={"status": "blocked"}))
    assert written(memory) == before
    assert memory.goals.update(goal.id, status="active").status == "active"
    memory.goals.update(goal.id, status="blocked")
    with pytest.raises(Conflict, match="active or abandoned"):
        memory.goals.update(goal.id, status="completed")


def test_completing_the_last_blocker_unblocks(memory: AgentMemory) -> None:
    first, second = (memory.add_goal(Goal(description=name)) for name in ("first", "second"))
    waiting = memory.add_goal(Goal(description="third", status="blocked", blocked_by=[first.id, second.id]))
    other = memory.add_goal(Goal(description="by hand", status="blocked"))
    memory.goals.update(first.id, status="completed")
    assert status(memory, waiting, other) == ["blocked", "blocked"]
    memory.goals.update(second.id, status="abandoned")
    assert status(memory, waiting) == ["blocked"]
    memory.goals.update(second.id, status="active")
    memory.goals.update(second.id, status="completed")
    assert status(memory, waiting, other) == ["active", "blocked"]
    assert [one.payload["status"] for one in memory.records.history(waiting.id)] == ["blocked", "active"]


@pytest.mark.parametrize("field", ["blocked_by", "parent_goal_id"])
def test_no_circles_and_nothing_written(memory: AgentMemory, field: str) -> None:
    def edge(target: str) -> dict[str, object]:
        return {field: [target] if field == "blocked_by" else target}

    first = memory.add_goal(Goal(description="first"))
    second = memory.add_goal(Goal(description="second", **edge(first.id)))
    third = memory.add_goal(Goal(description="third", **edge(second.id)))
    before = written(memory)
    with pytest.raises(
        InvalidInput, match=f"{field}: this would close a circle: {first.id} → {third.id} → {second.id}"
    ):
        memory.goals.update(first.id, **edge(third.id))
    with pytest.raises(InvalidInput, match="circle"):
        memory.goals.update(first.id, **edge(first.id))
    with pytest.raises(NotFound, match=f"{field}: no goal 'nobody'"):
        memory.goals.update(first.id, **edge("nobody"))
    note = memory.records.add("a note").id
    with pytest.raises(NotFound, match=f"{field}: no goal"):
        memory.add_goal(Goal(description="fourth", **edge(note)))
    assert written(memory) == before + 1


def test_two_writers_cannot_close_a_circle_together(memory: AgentMemory) -> None:
    for _ in range(10):
        first, second = (memory.add_goal(Goal(description=name)) for name in ("first", "second"))
        refused: list[InvalidInput] = []
        together = threading.Barrier(2)

        def block(goal: Goal, by: Goal, together: threading.Barrier = together, refused: list = refused) -> None:
            together.wait()
            try:
                memory.goals.update(goal.id, blocked_by=[by.id])
            except InvalidInput as error:
                refused.append(error)

        threads = [threading.Thread(target=block, args=pair) for pair in ((first, second), (second, first))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 1
        assert sorted(map(len, (memory.goals.get(one.id).blocked_by for one in (first, second)))) == [0, 1]


def test_two_blockers_completed_at_once_leave_nobody_waiting(memory: AgentMemory) -> None:
    for _ in range(10):
        blockers = [memory.add_goal(Goal(description=name)) for name in ("first", "second")]
        waiting = memory.add_goal(Goal(description="w", status="blocked", blocked_by=[one.id for one in blockers]))
        threads = [
            threading.Thread(target=memory.goals.update, args=(one.id,), kwargs={"status": "completed"})
            for one in blockers
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert status(memory, waiting) == ["active"]


def test_edges_that_are_taken_back(memory: AgentMemory) -> None:
    first, second = (memory.add_goal(Goal(description=name)) for name in ("first", "second"))
    goal = memory.add_goal(Goal(description="third", blocked_by=[first.id], parent_goal_id=second.id))
    memory.goals.update(goal.id, blocked_by=[second.id])
    assert {(link.type, link.target_id) for link in memory.records.links(goal.id)} == {
        ("BLOCKED_BY", second.id),
        ("SUBGOAL_OF", second.id),
        ("HAS_GOAL", goal.id),
    }
    memory.records.forget([second.id])
    memory.add_goal(Goal(id=goal.id, description="third", blocked_by=[], parent_goal_id=None))
    assert [link.type for link in memory.records.links(goal.id)] == ["HAS_GOAL"]
    assert memory.goals.get(goal.id).blocked_by == []


def test_a_goal_that_is_stored_again_keeps_what_was_not_said(memory: AgentMemory) -> None:
    first = memory.add_goal(Goal(description="first"))
    goal = memory.add_goal(
        Goal(description="secnod", status="blocked", priority=5, blocked_by=[first.id], parent_goal_id=first.id)
    )
    again = memory.add_goal(Goal(id=goal.id, description="second"))
    assert again.description == "second" and again.model_copy(update={"description": "secnod"}) == goal
    bare = memory.add_goal(Goal(id=goal.id, description="second", parent_goal_id=None))
    assert bare.parent_goal_id is None and bare.blocked_by == [first.id] and bare.created_at == goal.created_at


def test_nobody_is_blocked_by_what_is_completed_or_forgotten(memory: AgentMemory) -> None:
    done, gone, open = (memory.add_goal(Goal(description=name)) for name in ("done", "gone", "open"))
    waits = memory.add_goal(Goal(description="waits", status="blocked", blocked_by=[done.id, gone.id]))
    memory.records.forget([gone.id])
    memory.goals.update(done.id, status="completed")
    assert status(memory, waits) == ["active"]
    assert memory.goals.update(waits.id, status="blocked").status == "active"
    assert memory.add_goal(Goal(description="late", status="blocked", blocked_by=[done.id])).status == "active"
    assert memory.goals.update(waits.id, status="blocked", blocked_by=[done.id, open.id]).status == "blocked"
    assert memory.goals.update(waits.id, blocked_by=[done.id]).status == "active"


@pytest.mark.local
def test_a_blocker_of_more_than_one_write_can_free_is_completed(
    memory: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request, "MOST_CHANGES", 11)  # five goals, their links, and the user
    monkeypatch.setattr(edges, "MOST_FREED", 4)
    first = memory.add_goal(Goal(description="first"))
    goals = [memory.add_goal(Goal(description="g", status="blocked", blocked_by=[first.id])) for _ in range(13)]
    memory.goals.update(first.id, status="completed")
    assert set(status(memory, *goals)) == {"active"}


def test_bad_values_are_named(memory: AgentMemory) -> None:
    goal = memory.add_goal(Goal(description="ship it"))
    before = written(memory)
    for wrong, field in (
        ({"priority": 9}, "priority"),
        ({"status": "done"}, "status"),
        ({"blocked_by": [""]}, "blocke"),
    ):
        with pytest.raises(InvalidInput, match=field):
            memory.goals.update(goal.id, **wrong)
    with pytest.raises(NotFound, match="no goal 'x'"):
        memory.goals.update("x", status="active")
    assert written(memory) == before
