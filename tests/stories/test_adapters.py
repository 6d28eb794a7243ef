"""Recall learns from feedback: what helped comes first, also for questions that nobody judged. E6."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AgentMemory
from agent_memory.models.answer import Recalled
from agent_memory.models.errors import Denied, NotFound
from agent_memory.ports.embedder import Passage, Space

pytestmark = pytest.mark.requirement("E6")
TOPICS, GOSSIP, JUDGED = 44, 5, 40


class Slanted:
    """An embedder that hears gossip in every question: what answers comes after it."""

    def __init__(self, version: str = "1") -> None:
        self.space = Space("slanted", version, 64)

    def passages(self, text: str) -> list[Passage]:
        return [Passage(0, len(text))]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.stack([self._vector(text) for text in texts])
        unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit

    def _vector(self, text: str) -> NDArray[np.float64]:
        row = np.full(64, 0.01)
        for kind, number in re.findall(r"\b(answer|ask|gossip)(\d+)", text):
            place = int(number) if kind == "gossip" else int(number) + 10
            row[place] += 1.0 + place / 1000  # no two are as near
            row[9] += {"answer": 0.0, "ask": 1.5, "gossip": 2.0}[kind]
        return row


@pytest.fixture
def learning(monkeypatch: pytest.MonkeyPatch, home: object) -> Iterator[AgentMemory]:
    monkeypatch.setenv("AGENT_MEMORY_ADAPTERS", "on")
    with AgentMemory("ada", embedder=Slanted()) as memory:
        fill(memory)
        yield memory


def fill(memory: AgentMemory) -> None:
    memory.records.add_many(
        [
            *({"id": f"a{one}", "text": f"answer{one}"} for one in range(TOPICS)),
            *({"id": f"g{one}", "text": f"gossip{one}"} for one in range(GOSSIP)),
            *(
                {"id": f"n{one}", "text": f"a note of eight words that says answer{one}, answer{one + 1}"}
                for one in (50, 52)
            ),
        ],
        embed=True,
    )


def ask(memory: AgentMemory, topic: int) -> Recalled:
    return memory.recall(f"ask{topic}")


def judge(memory: AgentMemory, topics: Sequence[int] = range(JUDGED)) -> list[str]:
    receipts = []
    for topic in topics:
        found = ask(memory, topic)
        assert f"a{topic}" in {hit.id for hit in found}
        memory.feedback(found.receipt_id, useful=[f"a{topic}"])
        receipts.append(found.receipt_id)
    return receipts


def adapter(memory: AgentMemory, found: Recalled) -> object:
    return memory.receipts.get(found.receipt_id).get("adapter")


def test_what_helped_comes_first_also_for_questions_that_nobody_judged(learning: AgentMemory) -> None:
    before = ask(learning, 41)
    assert before[0].id.startswith("g") and adapter(learning, before) is None
    judge(learning)
    learned = learning.upkeep.learn()
    assert learned.accepted and learned.used and learned.version == 1, learned.why
    assert learned.before is not None and learned.after is not None and learned.after > learned.before
    after = ask(learning, 41)
    assert after[0].id == "a41"
    assert adapter(learning, after) == {"id": learned.adapter, "version": 1}
    assert learning.upkeep.verify().ok


def test_twice_is_once(learning: AgentMemory) -> None:
    judge(learning)
    first, second = learning.upkeep.learn(), learning.upkeep.learn()
    assert first.accepted and not second.accepted and second.version == 1, "nothing new was said"
    assert len(learning.records.find("adapter")) == 1


def test_the_job_learns_by_itself_and_once(learning: AgentMemory) -> None:
    judge(learning)
    did = learning.upkeep.run_jobs()["learn"]
    assert (did["tried"], did["adapters"], did["behind"]) == (1, 1, 0)
    assert ask(learning, 42)[0].id == "a42"
    assert learning.upkeep.run_jobs()["learn"] == {"tried": 0, "adapters": 0, "behind": 0}


def test_a_replay_goes_through_what_its_recall_went_through(
    learning: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = ask(learning, 41)
    judge(learning)
    learning.upkeep.learn()
    turned = ask(learning, 41)
    for found in (plain, turned):
        replay = learning.receipts.replay(found.receipt_id)
        assert replay.identical, replay.differences
    assert not learning.receipts.replay(plain.receipt_id, now=True).identical
    learning.close()
    monkeypatch.setenv("AGENT_MEMORY_ADAPTERS", "off")
    with AgentMemory("ada", embedder=Slanted()) as memory:
        replay = memory.receipts.replay(turned.receipt_id)
        assert replay.identical, replay.differences


def test_a_moment_in_the_past_has_the_adapter_of_that_moment(monkeypatch: pytest.MonkeyPatch, clock: object) -> None:
    monkeypatch.setenv("AGENT_MEMORY_ADAPTERS", "on")
    with AgentMemory("ada", embedder=Slanted(), clock=clock) as memory:
        fill(memory)
        clock.forward(hours=1)  # type: ignore[attr-defined]
        then = clock.now()  # type: ignore[attr-defined]
        clock.forward(hours=1)  # type: ignore[attr-defined]
        judge(memory)
        assert memory.upkeep.learn().accepted
        assert memory.recall("ask41")[0].id == "a41"
        assert memory.recall("ask41", as_of=then)[0].id.startswith("g")


def test_switched_off_it_changes_nothing_and_the_job_is_not_there(
    learning: AgentMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(learning)
    assert learning.upkeep.learn().accepted
    learning.close()
    monkeypatch.delenv("AGENT_MEMORY_ADAPTERS")
    with AgentMemory("ada", embedder=Slanted()) as memory:
        found = ask(memory, 41)
        assert found[0].id.startswith("g") and adapter(memory, found) is None
        assert "learn" not in memory.upkeep.run_jobs() and not memory.upkeep.learn().used


@pytest.mark.parametrize("forgotten", ["a7", "g2", "feedback", "n50"])
def test_it_is_forgotten_with_what_it_learned_from(learning: AgentMemory, forgotten: str) -> None:
    judge(learning)
    assert learning.upkeep.learn().accepted
    id = learning.records.find("feedback", limit=1)[0].id if forgotten == "feedback" else forgotten
    learning.records.forget([id])
    assert learning.records.find("adapter") == []
    found = ask(learning, 41)
    assert found[0].id.startswith("g") and adapter(learning, found) is None
    if forgotten == "a7":
        assert learning.upkeep.learn().accepted, "and it is learned again from what is left"


def test_nothing_is_learned_from_a_little_or_from_what_says_nothing(learning: AgentMemory) -> None:
    judge(learning, range(5))
    learned = learning.upkeep.learn()
    assert not learned.accepted and "it takes 20" in learned.why
    assert learned.adapter is None and not learned.used
    for topic in range(5, JUDGED):
        found = ask(learning, topic)
        learning.feedback(found.receipt_id, useful=[found[0].id])  # what was first already
    learned = learning.upkeep.learn()
    assert not learned.accepted and learned.adapter is None and learning.records.find("adapter") == []


def test_another_embedding_space_is_answered_without_it(learning: AgentMemory) -> None:
    judge(learning)
    assert learning.upkeep.learn().accepted
    learning.close()
    with AgentMemory("ada", embedder=Slanted("2")) as memory:
        memory.upkeep.rebuild(vectors=True)
        found = ask(memory, 41)
        assert found[0].id.startswith("g") and adapter(memory, found) is None
        assert not memory.upkeep.learn().accepted, "what was said was said of another space"
        judge(memory)
        assert memory.upkeep.learn().accepted and ask(memory, 41)[0].id == "a41"


def test_it_is_of_one_user_and_nobody_elses(learning: AgentMemory) -> None:
    judge(learning)
    assert learning.upkeep.learn().accepted
    with AgentMemory("eve", embedder=Slanted()) as eve, AgentMemory("ada", agent="bot", embedder=Slanted()) as bot:
        fill(eve)
        for memory in (eve, bot):
            found = ask(memory, 41)
            assert found[0].id.startswith("g") and adapter(memory, found) is None
        receipt = ask(learning, 1).receipt_id
        with pytest.raises(NotFound):
            eve.feedback(receipt, useful=["a1"])
        assert not eve.upkeep.learn().accepted


def test_nobody_writes_one_by_hand(learning: AgentMemory) -> None:
    judge(learning)
    learning.upkeep.learn()
    payload = learning.records.find("adapter")[0].payload
    with pytest.raises(Denied, match=r"upkeep\.learn|not written like a memory"):
        learning.records.add("mine", "adapter", payload=payload)
    assert json.dumps(payload) and ask(learning, 41)[0].id == "a41"


@pytest.mark.local
@pytest.mark.file
def test_one_that_is_damaged_is_named_and_recall_goes_on(learning: AgentMemory) -> None:
    judge(learning)
    assert learning.upkeep.learn().accepted
    url = learning.upkeep.stats()["store"]
    learning.close()
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        other, where = """replace(payload, '"rank":8', '"rank":3')""", """payload like '%"rank":8%'"""
        changed = connection.execute(f"update contents set payload = {other} where {where}")
        assert changed.rowcount == 1
    with AgentMemory("ada", embedder=Slanted()) as memory:
        found = ask(memory, 41)
        assert found[0].id.startswith("g") and found.hits
        assert "trouble" in str(adapter(memory, found)) and memory.receipts.replay(found.receipt_id).identical
        assert not memory.upkeep.verify().ok
