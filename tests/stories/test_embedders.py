"""Spaces: a store agrees with its embedder, notices another one, and is re-embedded beside the old space. L5, C14."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from agent_memory import AgentMemory
from agent_memory.models.errors import InvalidInput, PartMissing, SpaceMismatch
from agent_memory.ports.embedder import Passage, Space
from agent_memory.testing.wire import FakeOpenAI


class Hashed:
    """Words thrown into buckets: a real, if simple, space of its own."""

    def __init__(self, version: str = "1", dimension: int = 32) -> None:
        self.space = Space("hashed", version, dimension)
        self.reachable = True
        self.calls = 0

    def passages(self, text: str) -> list[Passage]:
        return [Passage(start, start + 100) for start in range(0, max(len(text), 1), 100)]

    def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self.reachable:
            raise PartMissing("the endpoint is out of reach")
        self.calls += len(texts)
        rows = np.zeros((len(texts), self.space.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split() or [""]:
                row[hashlib.sha256((self.space.version + word).encode()).digest()[0] % len(row)] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.requirement("L5", "C14")
def test_another_model_is_noticed_and_built_beside_the_old_one() -> None:
    with AgentMemory(user_id="ada", embedder=Hashed()) as memory:
        memory.records.add("the red barn")
        memory.records.add("the blue boat")
    with AgentMemory(user_id="ada", embedder=Hashed("2", 16)) as changed:
        with pytest.raises(SpaceMismatch, match="hashed@2/16"):
            changed.recall("red")
        with pytest.raises(SpaceMismatch):
            changed.records.add("not yet")
        with AgentMemory(user_id="ada", embedder=Hashed()) as old:
            assert old.recall("red barn")[0].why.similarity is not None
        made = changed.upkeep.rebuild(vectors=True)
        assert made["vectors"] == 2 and made["pending_vectors"] == 0
        assert changed.recall("red barn")[0].why.similarity is not None
        assert changed.upkeep.stats()["space"] == "hashed@2/16"
        assert changed.upkeep.stats()["vectors"] == 2, "those of the old space are gone"
        assert changed.upkeep.verify().ok
    with AgentMemory(user_id="ada", embedder=Hashed()) as late, pytest.raises(SpaceMismatch):
        late.recall("red")


def test_an_embedder_out_of_reach_costs_no_write_and_no_answer() -> None:
    embedder = Hashed()
    with AgentMemory(user_id="ada", embedder=embedder) as memory:
        memory.records.add("written with a vector")
        embedder.reachable = False
        memory.records.add("written without a vector")
        found = memory.recall("written without")
        assert found[0].text == "written without a vector" and found[0].why.similarity is None
        assert found.pending == 1
        embedder.reachable = True
        again = memory.recall("written without")
        assert again.pending == 0 and again[0].why.similarity is not None


@pytest.mark.requirement("L5")
def test_bulk_writes_are_embedded_by_the_next_recall_newest_first() -> None:
    embedder = Hashed()
    with AgentMemory(user_id="ada", embedder=embedder) as memory:
        memory.records.add_many([{"text": f"note {number}"} for number in range(40)])
        assert embedder.calls == 0 and memory.upkeep.stats()["pending_vectors"] == 40
        assert memory.recall("note 7", k=1)[0].text == "note 7"
        assert memory.upkeep.stats()["pending_vectors"] == 0 and embedder.calls == 40, "one of them is the question"
    with AgentMemory(user_id="eve", embedder=Hashed()) as other:
        other.records.add_many([{"text": "hers"}])
        with AgentMemory(user_id="ada", embedder=Hashed()) as memory:
            assert memory.recall("note").pending == 0, "others' pending texts are not mine to embed"


class Paid(Hashed):
    """One that counts words, and has a price."""

    price = 20.0

    def embed_and_count(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], int | None]:
        return self.embed_many(texts), sum(len(text.split()) for text in texts)


@pytest.mark.requirement("P9")
def test_a_receipt_tells_what_the_question_cost() -> None:
    with AgentMemory(user_id="ada", embedder=Paid()) as memory:
        memory.records.add("the red barn")
        first, again = memory.recall("where is it?"), memory.recall("where is it?")
        assert (first.tokens, first.money, first.space) == (3, pytest.approx(60e-6), "hashed@1/32")
        assert (again.tokens, again.money) == (0, 0.0), "its vector was still known"
        receipt = memory.receipts.get(first.receipt_id)
        assert (receipt["tokens"], receipt["money"], receipt["space"]) == (3, first.money, "hashed@1/32")
        assert (receipt["searched"], receipt["candidates"]) == (1, 1)


@pytest.mark.requirement("P9")
def test_a_cost_that_nobody_knows_is_none_and_never_a_guess() -> None:
    embedder = Hashed()
    with AgentMemory(user_id="ada", embedder=embedder) as memory:
        memory.records.add("the red barn")
        found = memory.recall("where is it?")
        assert (found.tokens, found.money) == (None, None)
        embedder.reachable = False
        missed = memory.recall("where else is it?")
        assert (missed.tokens, missed.money, missed.space) == (None, None, None)


@pytest.mark.requirement("P9")
@pytest.mark.parametrize(("price", "money"), [("", None), ("2.5", pytest.approx(2.5e-6)), ("0", 0.0)])
def test_a_service_is_paid_by_the_price_that_is_set(
    monkeypatch: pytest.MonkeyPatch, price: str, money: float | None
) -> None:
    with FakeOpenAI() as service:
        monkeypatch.setenv("AGENT_MEMORY_EMBEDDING_PROVIDER", "openai")
        monkeypatch.setenv("OPENAI_BASE_URL", service.url)
        monkeypatch.setenv("AGENT_MEMORY_EMBEDDING_PRICE", price)
        with AgentMemory(user_id="ada") as memory:
            memory.records.add("the red barn")
            found = memory.recall("where is it?")
            assert (found.tokens, found.money) == (1, money)


@pytest.mark.parametrize("price", ["-1", "nan", "inf", "two"])
def test_a_price_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, price: str) -> None:
    monkeypatch.setenv("AGENT_MEMORY_EMBEDDING_PRICE", price)
    with pytest.raises(InvalidInput, match="AGENT_MEMORY_EMBEDDING_PRICE"):
        AgentMemory(user_id="ada")


def test_the_local_embedder_costs_nothing(memory: AgentMemory) -> None:
    memory.records.add("the red barn")
    found = memory.recall("where?")
    assert (found.tokens, found.money) == (4, 0.0), "where, ?, and two marks around them"
    assert found.space == memory.upkeep.stats()["space"]


@pytest.mark.requirement("L5")
def test_a_long_text_has_several_vectors_and_the_best_counts() -> None:
    with AgentMemory(user_id="ada", embedder=Hashed()) as memory:
        filler = "lorem ipsum dolor sit amet " * 40
        memory.records.add(f"{filler} xylophone {filler}")
        memory.records.add("something else entirely")
        memory.recall("warm up")  # makes the passages that the write left for later
        hit = memory.recall("xylophone", k=1)[0]
        assert hit.text.startswith("lorem")
        assert memory.upkeep.stats()["vectors"] > 10


def test_a_vector_of_the_callers_own(memory: AgentMemory) -> None:
    from agent_memory.models import Goal

    vector = memory.embedder.embed_single("sailing around the world")
    memory.add_goal(Goal(description="xyzzy", embedding=vector))
    assert memory.recall("a voyage by boat", kinds=["goal"])[0].why.similarity > 0.3
    with pytest.raises(InvalidInput) as caught:
        memory.add_goal(Goal(description="short", embedding=[1.0, 2.0]))
    assert caught.value.field == "embedding"


@pytest.mark.requirement("L9")
def test_the_plain_vector_store(memory: AgentMemory) -> None:
    memory.vectors.upsert("docs", "a", [1.0, 0.0, 0.0], {"lang": "en"})
    memory.vectors.upsert("docs", "b", [0.9, 0.1, 0.0], {"lang": "de"})
    memory.vectors.upsert("other", "c", [0.0, 1.0], {})
    assert [match.id for match in memory.vectors.query("docs", [1.0, 0.0, 0.0], k=2)] == ["a", "b"]
    assert [match.id for match in memory.vectors.query("docs", [1.0, 0.0, 0.0], where={"lang": "de"})] == ["b"]
    with pytest.raises(InvalidInput):
        memory.vectors.upsert("docs", "d", [1.0], {})
    assert memory.vectors.delete("docs", ["a", "nobody"]) == 1
    assert [match.id for match in memory.vectors.query("docs", [1.0, 0.0, 0.0])] == ["b"]
