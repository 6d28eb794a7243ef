"""Every recall leaves a receipt, and can be asked again: the same answer, whatever was written since. P9."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AgentMemory
from agent_memory.core.recall.shorthand import read
from agent_memory.models import Entity, Turn
from agent_memory.models.errors import NotFound, PartMissing
from agent_memory.models.recipe import DEFAULT
from agent_memory.ports.embedder import Passage, Space


def fill(memory: AgentMemory) -> None:
    lines = ["the deploy of checkout failed", "which stage?", "the smoke test timed out", "restart the runner"]
    for index, text in enumerate(lines):
        speaker = ("Ann", "Bob")[index % 2]
        memory.store_turn(Turn(conversation_id="c1", index=index, role="user", speaker=speaker, content=text))
    memory.learn_fact("checkout runs on cluster eu-1", subject="checkout", predicate="runs on")
    memory.upsert_entity(Entity(name="checkout", type="Service"))


def change_everything(memory: AgentMemory) -> None:
    memory.learn_fact("checkout runs on cluster eu-2", subject="checkout", predicate="runs on")
    memory.store_turn(Turn(conversation_id="c1", index=2, role="user", speaker="Ann", content="the smoke test is fine"))
    memory.store_turn(Turn(conversation_id="c1", index=4, role="user", speaker="Cy", content="checkout checkout"))
    memory.upsert_entity(Entity(name="checkout", type="Service", description="takes orders"))
    for record in memory.records.find("turn"):
        memory.records.amend(record.id, importance=0.9)
    memory.records.add_many([{"text": f"checkout note {number}"} for number in range(30)])
    memory.recall("checkout")


QUESTIONS = {
    "plain": {"query": "where does checkout run?"},
    "a speaker": {"query": "What did Ann say about the smoke test?"},
    "filtered": {"query": "checkout", "kinds": ["fact", "entity"], "min_confidence": 0.1, "k": 3},
    "a field": {"query": "test", "kinds": ["turn"], "fields": {"role": "user"}},
    "a window": {"query": "deploy", "time_window_hours": 5},
    "a recipe": {"query": "deploy", "recipe": DEFAULT.model_copy(update={"words": 0.9, "per_conversation": 1})},
    "decay": {"query": "deploy", "recipe": "decay"},
}


@pytest.mark.requirement("P9")
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_replay_is_identical_after_everything_changed(timed: AgentMemory, clock: object, name: str) -> None:
    fill(timed)
    clock.forward(hours=1)
    first = timed.recall(**QUESTIONS[name])
    assert first.hits
    clock.forward(hours=1)
    change_everything(timed)
    replay = timed.receipts.replay(first.receipt_id)
    assert replay.identical and replay.same_pipeline and replay.forgotten == 0, replay.differences
    assert [(hit.id, hit.score) for hit in replay.recalled] == [(hit.id, hit.score) for hit in first]
    again = timed.receipts.replay(first.receipt_id, now=True)
    assert not again.identical and again.differences


class Choosy:
    """An embedder that does not embed everything yet."""

    def __init__(self, version: str = "1") -> None:
        self.space = Space("choosy", version, 8)
        self.refused = ""
        self.reachable = True

    def passages(self, text: str) -> list[Passage]:
        return [Passage(start, start + 30) for start in range(0, max(len(text), 1), 30)]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self.reachable or (self.refused and any(self.refused in text for text in texts)):
            raise PartMissing("not yet")
        words = [[hash_of(self.space.version + word) for word in text.split()] or [0] for text in texts]
        rows = np.array([[1 + sum(word >> place & 1 for word in found) for place in range(8)] for found in words])
        unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit


def hash_of(word: str) -> int:
    return hashlib.sha256(word.encode()).digest()[0]


TEXTS = ["checkout runs on eu-1", "a late note on checkout", "late: checkout is slow", "nothing", "late " * 50]


@pytest.mark.requirement("P9")
def test_a_replay_is_identical_after_pending_texts_got_their_vectors(clock: object) -> None:
    embedder = Choosy()
    with AgentMemory(user_id="ada", embedder=embedder, clock=clock) as memory:
        embedder.refused = "late"
        written = clock.now()
        for text in TEXTS:
            memory.records.add(text)
        clock.forward(hours=1)
        first = memory.recall("where does checkout run?")
        assert first.pending == 3
        embedder.refused = ""
        later = memory.recall("where does checkout run?")
        assert later.pending == 0 and [hit.score for hit in later] != [hit.score for hit in first]
        replay = memory.receipts.replay(first.receipt_id)
        assert replay.identical and replay.pending == 3 and replay.same_space, replay.differences
        assert not memory.receipts.replay(first.receipt_id, now=True).identical
        past = memory.recall("where does checkout run?", as_of=written)
        assert past.seq < memory.receipts.get(past.receipt_id)["head"], "as of then, with all vectors of now"
        assert all(hit.why.similarity is not None for hit in past)
        memory.records.add("checkout, again")
        assert memory.receipts.replay(past.receipt_id).identical
        assert memory.receipts.replay(later.receipt_id).identical


@pytest.mark.requirement("P9")
def test_what_was_answered_without_an_embedder_is_replayed_without_it() -> None:
    embedder = Choosy()
    with AgentMemory(user_id="ada", embedder=embedder) as memory:
        for text in TEXTS:
            memory.records.add(text)
        embedder.reachable = False
        blind = memory.recall("how is checkout?")
        embedder.reachable = True
        assert blind.space is None and memory.receipts.replay(blind.receipt_id).identical
        seeing = memory.recall("how is checkout, then?")
        embedder.reachable, memory._client.runtime.embedding._recent = False, {}
        missing = memory.receipts.replay(seeing.receipt_id)
        assert not missing.identical and not missing.same_space and missing.space == "choosy@1/8"


@pytest.mark.file
@pytest.mark.requirement("P9", "L5")
def test_another_embedding_space_is_named_as_the_reason() -> None:
    with AgentMemory(user_id="ada", embedder=Choosy()) as memory:
        for text in TEXTS:
            memory.records.add(text)
        memory.semantic.learn_fact("checkout runs on eu-1")
        receipt = memory.recall("where does checkout run?").receipt_id
        memory.semantic.vector_search_facts([1.0] * 8)
        (own,) = {*receipts(memory)} - {receipt}
    for version in ("2", "1"):  # another model, and then the first one again, with vectors made anew
        with AgentMemory(user_id="ada", embedder=Choosy(version)) as memory:
            memory.upkeep.rebuild(vectors=True)
            replay = memory.receipts.replay(receipt)
            assert not replay.same_space and replay.same_pipeline and replay.space == "choosy@1/8"
            assert all(hit.why.similarity is not None for hit in replay.recalled)
            for now in (False, True):
                again = memory.receipts.replay(own, now=now)
                assert not again.same_space, "a vector of the caller's own belongs to its space"


def receipts(memory: AgentMemory) -> list[str]:
    memory._client.runtime.receipts.flush()
    with sqlite3.connect(memory._client.runtime.url.removeprefix("sqlite:///")) as connection:
        return [row[0] for row in connection.execute("select id from receipts")]


@pytest.mark.local
@pytest.mark.requirement("P9")
def test_another_process_replays_it_too(memory: AgentMemory, home: Path) -> None:
    import subprocess
    import sys

    fill(memory)
    receipt = memory.recall("where does checkout run?").receipt_id
    change_everything(memory)
    memory.close()
    command = [sys.executable, "-m", "agent_memory.interfaces.cli", "--user", "ada", "replay", receipt, "--json"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["identical"] is True


def test_a_receipt_tells_what_was_asked_and_why(memory: AgentMemory) -> None:
    fill(memory)
    found = memory.recall("What did Ann say?", k=2)
    receipt = memory.receipts.get(found.receipt_id)
    assert receipt["query"] == "What did Ann say?" and receipt["k"] == 2 and receipt["speakers"] == ["ann"]
    assert [hit["id"] for hit in receipt["hits"]] == [hit.id for hit in found]
    assert receipt["hits"][0]["why"] == found[0].why.channels
    assert receipt["recipe_hash"] == DEFAULT.hash and receipt["seq"] == found.seq


@pytest.mark.file
def test_a_receipt_that_spells_everything_out_as_all_did_before_is_replayed_too(
    memory: AgentMemory, home: Path
) -> None:
    fill(memory)
    id = memory.recall("where does checkout run?").receipt_id
    told = memory.receipts.get(id)
    with closing(sqlite3.connect(home / "memory.db")) as file, file:
        (short,) = file.execute("select body from receipts where id = ?", (id,)).fetchone()
        whole = json.dumps(read(short))
        file.execute("update receipts set body = ? where id = ?", (whole, id))
    assert len(whole) > 1.5 * len(short)
    change_everything(memory)
    assert memory.receipts.get(id) == told and list(memory.receipts.get(id)) == list(told)
    assert memory.receipts.replay(id).identical


def test_only_forgetting_breaks_it_and_then_it_says_so(memory: AgentMemory) -> None:
    fill(memory)
    kept = memory.recall("which stage?", kinds=["turn"], k=1)
    shown = memory.recall("where does checkout run?", kinds=["fact"], k=1)
    memory.receipts.get(shown.receipt_id)
    memory.records.forget([shown[0].id])
    with pytest.raises(NotFound):
        memory.receipts.replay(shown.receipt_id)
    assert memory.receipts.replay(kept.receipt_id).forgotten == 1


def test_nobody_replays_what_another_asked(memory: AgentMemory) -> None:
    fill(memory)
    receipt = memory.recall("checkout").receipt_id
    memory.receipts.get(receipt)
    with AgentMemory(user_id="eve") as eve, pytest.raises(NotFound):
        eve.receipts.replay(receipt)


def test_asking_again_counts_as_no_access(memory: AgentMemory, settle: Callable[[], None]) -> None:
    ada = memory.upsert_entity(Entity(name="Ada", type="Person"))
    receipt = memory.recall("Ada", kinds=["entity"]).receipt_id
    for _ in range(3):
        memory.receipts.replay(receipt)
    memory.recall("flush")
    settle()
    assert memory.semantic.get_entity(ada.id).access_count <= 2
