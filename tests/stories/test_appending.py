"""The next turn of a conversation: its index is given by the store, one after the other, however many write."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from agent_memory import AgentMemory
from agent_memory.models import Turn
from agent_memory.models.errors import Conflict, InvalidInput
from patience import PATIENCE

WRITER = """
import sys
from agent_memory import AgentMemory
with AgentMemory("ada") as memory:
    for number in range(8):
        memory.episodic.append("talk", "user", f"{sys.argv[1]} {number}")
"""


def said(memory: AgentMemory, talk: str = "talk") -> list[tuple[int, str]]:
    return [(turn.index, turn.content) for turn in memory.episodic.get_conversation(talk)]


@pytest.mark.requirement("C2")
def test_a_session_goes_on_after_a_turn_that_somebody_ended(memory: AgentMemory) -> None:
    memory.episodic.append("talk", "user", "hello")
    last = memory.episodic.append("talk", "user", "never mind")
    memory.records.amend(last.id or "", valid_to=last.timestamp + timedelta(microseconds=1))
    assert memory.session(conversation_id="talk").add("user", "so").index == 2
    assert said(memory) == [(0, "hello"), (2, "so")]


@pytest.mark.requirement("C2")
def test_turns_follow_each_other(memory: AgentMemory) -> None:
    first = memory.episodic.append("talk", "user", "hello", {"from": "here"})
    second = memory.episodic.append("talk", "assistant", "hi", token_count=3)
    memory.episodic.append("other", "user", "elsewhere")
    assert (first.index, second.index, second.token_count, first.metadata) == (0, 1, 3, {"from": "here"})
    assert said(memory) == [(0, "hello"), (1, "hi")]
    assert said(memory, "other") == [(0, "elsewhere")]
    assert [turn["content"] for turn in memory.working.get_recent_turns()] == ["elsewhere", "hi", "hello"]
    [link] = [one for one in memory.records.links(first.id) if one.type == "FOLLOWED_BY"]
    assert link.target_id == second.id


def test_it_comes_after_turns_that_were_stored_in_another_order(memory: AgentMemory) -> None:
    for index in (3, 1, 7, 2):
        memory.store_turn(Turn(conversation_id="talk", index=index, role="user", content=str(index)))
    assert memory.episodic.append("talk", "user", "next").index == 8


def test_the_same_key_again_is_the_same_turn(memory: AgentMemory) -> None:
    first = memory.episodic.append("talk", "user", "hello", idempotency_key="k")
    memory.episodic.append("talk", "assistant", "hi")
    again = memory.episodic.append("talk", "user", "hello", idempotency_key="k")
    assert (again.id, again.index) == (first.id, 0)
    with pytest.raises(Conflict):
        memory.episodic.append("talk", "user", "something else", idempotency_key="k")
    assert said(memory) == [(0, "hello"), (1, "hi")]


def test_what_is_no_turn_is_refused(memory: AgentMemory) -> None:
    for wrong in ({"role": "narrator"}, {"conversation_id": " "}, {"token_count": -1}, {"content": "\ud800"}):
        with pytest.raises(InvalidInput):
            memory.episodic.append(**{"conversation_id": "talk", "role": "user", "content": "x", **wrong})
    assert said(memory) == []


@pytest.mark.local
def test_threads_and_processes_never_take_the_same_index(memory: AgentMemory) -> None:
    others = [subprocess.Popen([sys.executable, "-c", WRITER, name]) for name in ("one", "two")]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: memory.episodic.append("talk", "user", f"here {number}"), range(8)))
    assert [one.wait(PATIENCE) for one in others] == [0, 0]
    turns = said(memory)
    assert [index for index, _ in turns] == list(range(24))
    for name in ("one", "two"):
        assert [text for _, text in turns if text.startswith(name)] == [f"{name} {number}" for number in range(8)]


def test_a_context_leaves_out_what_the_prompt_has_already(memory: AgentMemory) -> None:
    seen = memory.episodic.append("c1", "user", "Staging listens on port 5433")
    other = memory.records.add("The staging database is PostgreSQL 16")
    whole = memory.assemble_context("which port does staging use?", 500)
    less = memory.assemble_context("which port does staging use?", 500, without=[seen.id])
    assert "5433" in whole.text and "5433" not in less.text, "neither recalled nor on the desk"
    assert other.id in {chunk.id for chunk in less.chunks}
    assert ("repeat", seen.id) in {(one.reason, one.id) for one in less.left_out}
